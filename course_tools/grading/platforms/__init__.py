"""Learning platforms, one file each: the names of their downloads, and the files they take back.

What belongs here: names of files, columns, rows. Not: how anything is graded. A new platform is a new file with a
subclass of `Platform` (of `Gradebook` where points go into a CSV file).
"""

import importlib
import pkgutil

from course_tools.grading.platforms.platform import Platform

for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")


def classes_without_subclass(kind):
    """The subclasses of this one that have none."""
    below = kind.__subclasses__()
    return [leaf for each in below for leaf in classes_without_subclass(each)] if below else [kind]


PLATFORMS = sorted((kind() for kind in classes_without_subclass(Platform)), key=lambda platform: platform.name)
