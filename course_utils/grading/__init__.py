"""Grade a folder of submissions: the same exercises and the same judging as `check`, each answer in a sandbox."""
