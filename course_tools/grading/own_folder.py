"""Where an instructor's own exercises lie: beside what was handed in. Importing it loads nothing else."""

OWN_FOLDER, OWN_CHAPTER = "exercises", 100  # its exercises are 100.1, 100.2 by the names of their files


def own_folder(submissions):
    """The folder beside what was handed in, whether or not there is one."""
    return submissions.absolute().parent / OWN_FOLDER


def has_own_exercises(submissions):
    """Whether an instructor's own exercises are beside what was handed in."""
    return any(own_folder(submissions).glob("*.py"))
