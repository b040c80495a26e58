"""The interface of every learning platform. A platform is a file here with a subclass; nothing else names it."""

from typing import NamedTuple


class Owner(NamedTuple):
    """The owner of a file.

    numbered_by: the name of the platform whose own numbers the ids are; elsewhere they mean nothing. "" if the ids are
    the institution's: student numbers and e-mail addresses. If there are several numbers, one is the student's.
    """

    name: str
    ids: tuple[str, ...] = ()
    numbered_by: str = ""


class Platform:
    """A learning platform: the owners of downloaded files, and the way back for points."""

    name: str
    list_file: str | None = None  # a file in the download that lists students and is not a submission

    def owner(self, name):
        """The Owner in the name of a downloaded file or folder, or None. name: without .ipynb, .zip"""
        return None

    def owners(self, content):
        """{name of a file or folder, without its ending: [Owner of each in the group]} from the bytes of `list_file`.

        Raises ValueError, with a reason, if it is not in the platform's format.
        """
        return {}

    def is_late(self, name):
        """Whether the name of a downloaded file or folder says that it was handed in late."""
        return False

    def add_options(self, parser):
        """Add the options that ask for this platform's files to the `grade` command."""

    def export(self, options):
        """The export that the options ask for, or None.

        It has:

        * `path`, a file of which `out` gets a filled copy (or None);
        * `prepare()`, which ends the program with a sentence if the copy is impossible;
        * `full_names(students)`: {key of a student: full name} as far as the platform's file has them;
        * `late(students)`: the keys of those marked as late in the platform's table;
        * `file_names(students)`, the names of the files that `write` will make in `out`, with forward slashes;
        * `planned_changes(scores, last)`, sentences on what would change there;
        * `write(out, graded)`, which writes the files and returns the sentences to print;
        * `values`, which a later run gets as `last`.

        scores: [(student, points, highest possible points)]. graded: [(report, its Grade)].
        """
        return None
