"""python3 -m course_tools site [FOLDER]: make a website from the stored notebooks, by default in _site/.

No code is run, and the site needs no server: open index.html.
"""

import signal
import sys
from pathlib import Path

from course_tools import environment
from course_tools.repository import ROOT


def main(arguments):
    """Build the site into a folder."""
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        sys.exit("usage: python3 -m course_tools site [FOLDER]")
    target = Path(*arguments or [ROOT / "_site"]).absolute()
    environment.run_with_environment("site", [str(target)], "course_tools/requirements.txt")
    from course_tools.site.build import build  # only now are all packages there

    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Stopped. The site was not built."))
    build(target)
    print(f"The site is in {target}: open {target / 'index.html'}")
