"""Names of files, stored in UTF-8 whatever the locale. Standard library only."""

import os


def on_disk(name):
    """A name for opening a file, stored in UTF-8 whatever the locale; `from_disk` reverses this."""
    return os.fsdecode(name.encode())


def from_disk(name):
    """The text of a name found on the disk, whatever the locale; bytes that are not UTF-8 become �."""
    return os.fsencode(name).decode(errors="replace")
