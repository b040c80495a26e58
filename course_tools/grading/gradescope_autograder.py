"""autograder.zip for Gradescope: the course as it is here, how it is installed there, how a submission is graded."""

import io
import json
import sys
import zipfile

from course_tools.repository import ROOT
from course_utils import files

FILES_IN_ZIP = (
    "course_utils/**/*",
    "course_tools/**/*",
    "notebooks/*.ipynb",
    "solutions/*",
    "requirements.txt",
    "pyproject.toml",
)
SETUP = """\
#!/usr/bin/env bash
# Gradescope runs this once, when the autograder is built.
set -e
export DEBIAN_FRONTEND=noninteractive PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
apt-get update
apt-get install -y python3.12 python3.12-venv || apt-get install -y python3.11 python3.11-venv
ln -sf "$(command -v python3.12 || command -v python3.11)" /usr/local/bin/course-python
cd /autograder/source
course-python -m course_tools grade --doctor --unsandboxed
"""
RUN = """\
#!/usr/bin/env bash
# Gradescope runs this for each submission. Whatever was handed in, results.json is there at the end.
here="${{AUTOGRADER:-/autograder}}"
work="$(mktemp -d)"
mkdir -p "$here/results" "$work/class"
cp -r "$here/submission" "$work/class/student"
echo "The folder beside this file is one submission." > "$work/class/note.txt"
# Students read this before the deadline, so it tells them where an answer goes wrong, but not the change.
echo 'feedback = "place"' > "$work/assignment.toml"
cd "$here/source"
"${{COURSE_PYTHON:-course-python}}" -m course_tools grade "$work/class" --out "$work/out" --chapters {chapters} \\
    --workers 1 --gradescope --unsandboxed > "$work/said.txt" 2>&1
cp "$work/out/results.json" "$here/results/results.json" || cp failed.json "$here/results/results.json"
cat "$work/said.txt"
"""
FAILED_RESULTS = {
    "score": 0,
    "output": "The grader did not finish. Your instructor can see why. Hand in again later.",
}
HOW_TO_UPLOAD = (
    "{} is ready: upload it under Configure Autograder, for a Programming Assignment worth {} points. The build log "
    "says whether Gradescope offers protection. Without protection an answer can do whatever the grader can, so while "
    "it runs it can change its own result. Whatever it leaves running is ended before the result is written."
)


def write_autograder(path, chapters, most):
    """Write the zip. Gives the sentences to say. most: the points of these chapters.

    Ends the program with a sentence where a file would be replaced.
    """
    if path.exists():
        sys.exit(f"{path} is there already: name another file, or move it away.")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for pattern in FILES_IN_ZIP:
            for file in sorted(ROOT.glob(pattern)):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, file.relative_to(ROOT))
        archive.writestr("failed.json", json.dumps(FAILED_RESULTS))
        archive.writestr("setup.sh", SETUP)
        archive.writestr("run_autograder", RUN.format(chapters=" ".join(map(str, chapters))))
    files.replace(path, made.getvalue())
    return HOW_TO_UPLOAD.format(path, most)
