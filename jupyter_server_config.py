"""Read by JupyterLab when it starts in this folder: a saved notebook keeps still pictures, which need no kernel."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # `jupyter lab` alone does not look here

from course_utils import stills  # noqa: E402

c.ContentsManager.pre_save_hook = stills.before_saving  # noqa: F821 (Jupyter's configuration)
