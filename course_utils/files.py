"""Writing files so that a reader never meets half of one. Standard library only."""

import os
import tempfile


def replace(path, content):
    """Write bytes beside `path` under a name of their own, then move them there in one step."""
    descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.chmod(beside, 0o644)  # mkstemp lets only the owner read
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
