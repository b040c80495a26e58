"""Grade a folder of submissions: the same exercises and the same judging as `check`, each answer in a sandbox.

What belongs here: finding, reading and running what was handed in, and reporting it. Not: what is right or wrong.
"""
