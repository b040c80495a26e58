"""A step in building the wheel: it packs the parts of the chapters' sources that `solution` and checks read."""

import re
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# the first line of such a cell
NEEDED = re.compile(r'# %% (name="(imports|exercise-)|\[markdown\] tags=\["solution"\])')


class PackWorkedAnswers(BuildHookInterface):
    """Puts each chapter's needed cells into the wheel, under course_utils/solutions/."""

    def initialize(self, version, build_data):
        """Extract these cells before the wheel is packed."""
        self.folder = tempfile.TemporaryDirectory()
        for source in Path(self.root, "solutions").glob("[0-9]*.py"):
            if cells := needed_cells(source.read_text(encoding="utf-8")):
                short = Path(self.folder.name, source.name)
                short.write_text(cells, encoding="utf-8")
                build_data["force_include"][str(short)] = f"course_utils/solutions/{source.name}"

    def finalize(self, version, build_data, artifact_path):
        """Remove the extracted files."""
        self.folder.cleanup()


def needed_cells(source):
    """The cells of a chapter's source from which `course_utils.exercises.solutions` reads."""
    return "".join(cell for cell in re.split("(?m)^(?=# %%)", source) if NEEDED.match(cell))
