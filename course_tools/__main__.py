"""The command line: python3 -m course_tools COMMAND. An old Python must be able to read this file."""

import errno
import importlib
import os
import sys

COMMANDS = {  # each has a file of its name in commands/
    "lab": "open the chapters in JupyterLab (first installs what is missing)",
    "test": "run the standard tests (--all: in every setting; --changed: what your edits can affect)",
    "grade": "for instructors: grade a folder of submissions",
    "exercise": "for instructors: write your own exercises, test them, and make a notebook of them",
    "build": "for maintainers: make the notebooks from solutions/*.py and run them",
    "site": "for maintainers: make a website from the stored notebooks",
    "publish": "for maintainers: build what a push publishes: a copy with its address set, a wheel, the site",
    "links": "for maintainers: set the repository's address, OWNER/REPO, everywhere",
}
HELP_OPTIONS = {"-h", "--help"}
WRITE_ERRORS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EBUSY)

if not __package__:  # run by its path, from any folder: python3 clone/course_tools COMMAND
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main(arguments):
    """Run one command with the arguments after its name."""
    supported_pythons = importlib.import_module("course_tools.supported_pythons")
    if not os.path.isfile(supported_pythons.PROJECT):
        sys.exit("The commands need the whole course: clone its repository and run them there.")
    if sys.version_info[0] != 3 or sys.version_info[1] not in supported_pythons.pythons():
        made_for = supported_pythons.pythons_in_words()
        sys.exit("The course needs Python %s; this is %d.%d." % ((made_for,) + tuple(sys.version_info[:2])))
    if not arguments or arguments[0] not in COMMANDS:
        lines = ["usage: python3 -m course_tools COMMAND", ""]
        lines += ["  %-8s%s" % line for line in COMMANDS.items()]
        lines += ["", "COMMAND --help says more."]
        if arguments and arguments[0] not in HELP_OPTIONS:
            sys.exit("There is no command %r.\n" % arguments[0] + "\n".join(lines))
        print("\n".join(lines))
        return
    name, rest = arguments[0], arguments[1:]
    command = importlib.import_module("course_tools.commands." + name)
    if HELP_OPTIONS & set(rest) and name != "grade":  # grade explains its many options itself
        print(command.__doc__.strip())
    else:
        command.main(rest)


def run(arguments):
    """Run one command; if a file cannot be written, end with a sentence that names it."""
    if hasattr(
        sys.stdout, "reconfigure"
    ):  # a folder's or a student's name may have characters that this terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        main(arguments)
    except OSError as error:
        if error.errno not in WRITE_ERRORS or not error.filename:
            raise
        open_elsewhere = " If another program has it open, close it there." if os.name == "nt" else ""
        words = (error.filename, error.strerror, open_elsewhere)
        sys.exit("%s: %s.%s Fix this and run the same command again." % words)


if __name__ == "__main__":
    run(sys.argv[1:])
