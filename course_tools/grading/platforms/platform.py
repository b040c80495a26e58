"""What the grader asks of every learning platform. A platform is a file here with a subclass; nothing else names it."""

from typing import NamedTuple


class Owner(NamedTuple):
    """Whose a file is.

    numbered_by: the name of the platform whose own numbers the ids are; they mean nothing elsewhere. "" where the ids
    are the institution's: student numbers and e-mail addresses. Of several numbers, one is the student's.
    """

    name: str
    ids: tuple[str, ...] = ()
    numbered_by: str = ""


class Platform:
    """A learning platform: whose a downloaded file is, and how points get back."""

    name: str
    list_file: str | None = None  # a file of the download that lists students and is nobody's submission

    def owner(self, name):
        """The Owner in the name of a downloaded file or folder, or None. name: without .ipynb, .zip"""
        return None

    def owners(self, content):
        """{name of a file or folder, without its ending: [Owner of each in the group]} from the bytes of `list_file`.

        ValueError, with a reason, where it is not as the platform writes it.
        """
        return {}

    def is_late(self, name):
        """Whether the name of a downloaded file or folder says that it was handed in late."""
        return False

    def add_options(self, parser):
        """Add the options that ask for this platform's files to the `grade` command."""

    def export(self, options):
        """What the options ask for; None where for nothing.

        It has:

        * `path`, a file of which `out` gets a filled copy (or None);
        * `prepare()`, which ends the program with a sentence where that cannot be done;
        * `full_names(students)`: {key of a student: full name} as far as the platform's file has them;
        * `late(students)`: the keys of those of whom a table of the platform's says that they were late;
        * `file_names(students)`, the names of the files that `write` will make in `out`, with forward slashes;
        * `planned_changes(scores, last)`, the sentences on what would change there;
        * `write(out, graded)`, which writes and gives the sentences to say;
        * `values`, which a later run gets as `last`.

        scores: [(student, points, highest possible points)]. graded: [(report, its Grade)].
        """
        return None
