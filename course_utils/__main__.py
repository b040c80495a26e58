"""The command line: python3 -m course_utils COMMAND. An old Python must be able to read this file."""

import errno
import importlib
import os
import sys

COMMANDS = {  # each stands in a file of its name in launch/
    "lab": "open the chapters in JupyterLab (installs what is missing first)",
    "test": "prove every guarantee once (--all: in every setting; --changed: what your edits can touch)",
    "grade": "for instructors: grade a folder of submissions",
    "build": "for maintainers: make the notebooks from solutions/*.py and run them",
    "site": "for maintainers: make a website of the stored notebooks",
    "publish": "for maintainers: make what a push publishes: a copy with its address, a wheel, the site",
    "links": "for maintainers: set the repository's address, OWNER/REPO, everywhere",
}
UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EBUSY)


def main(arguments):
    """Run one command with the arguments after its name."""
    if sys.version_info < (3, 11):
        sys.exit("The course needs Python 3.11 or newer; this is %d.%d." % sys.version_info[:2])
    if not arguments or arguments[0] not in COMMANDS:
        lines = ["usage: python3 -m course_utils COMMAND", ""]
        lines += ["  %-8s%s" % line for line in COMMANDS.items()]
        if arguments and arguments[0] not in ("-h", "--help"):
            sys.exit("There is no command %r.\n" % arguments[0] + "\n".join(lines))
        print("\n".join(lines))
        return
    importlib.import_module("course_utils.launch." + arguments[0]).main(arguments[1:])


def run(arguments):
    """Run one command; where a file cannot be written, end with a sentence that names it."""
    if hasattr(sys.stdout, "reconfigure"):  # a folder's or a student's name may hold what this terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        main(arguments)
    except OSError as error:
        if error.errno not in UNWRITABLE or not error.filename:
            raise
        open_elsewhere = " If another program has it open, close it there." if os.name == "nt" else ""
        words = (error.filename, error.strerror, open_elsewhere)
        sys.exit("%s: %s.%s Once that is put right, run the same command again." % words)


if __name__ == "__main__":
    run(sys.argv[1:])
