"""Where an instructor's own exercises lie: beside what was handed in. Loads nothing, for whoever only asks."""

OWN_FOLDER, OWN_CHAPTER = "exercises", 100  # its exercises are 100.1, 100.2 by the names of their files


def own_folder(submissions):
    """The folder beside what was handed in, whether or not there is one."""
    return submissions.absolute().parent / OWN_FOLDER


def has_own_exercises(submissions):
    """Whether exercises of an instructor's own lie beside what was handed in."""
    return any(own_folder(submissions).glob("*.py"))
