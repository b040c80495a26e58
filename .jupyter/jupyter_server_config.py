"""Read by the `lab` command and on Binder: a saved notebook keeps still pictures, which need no kernel."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # where course_utils lies

from course_utils import stills

c.ContentsManager.pre_save_hook = stills.before_saving
