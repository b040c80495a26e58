"""autograder.zip for Gradescope: a copy of the course, with scripts that install it and grade a submission."""

import hashlib
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
# Gradescope runs this for each submission. It writes a results.json whatever the submission is.
here="${AUTOGRADER:-/autograder}"
work="$(mktemp -d)"
mkdir -p "$here/results" "$work/class"
cp -r "$here/submission" "$work/class/student"
echo "The folder beside this file is one submission." > "$work/class/note.txt"
cd "$here/source"
cp assignment.toml "$work/assignment.toml"
cp "$here/submission_metadata.json" "$work/" 2> /dev/null || true # it says when this was handed in
"${COURSE_PYTHON:-course-python}" -m course_tools grade "$work/class" --out "$work/out" \\
    --workers 1 --gradescope --unsandboxed > "$work/said.txt" 2>&1
cp "$work/out/results.json" "$here/results/results.json" || cp failed.json "$here/results/results.json"
cat "$work/said.txt"
"""
FAILED_RESULTS = {
    "score": 0,
    "output": "The grader did not finish. Your instructor can see why. Submit again later.",
}
HOW_TO_UPLOAD = (
    "{} is ready: upload it under Configure Autograder, for a Programming Assignment worth {} points. The build log "
    "says whether Gradescope offers protection. Without protection, an answer can do whatever the grader can, so while "
    "it runs, it can change its own result. Processes it leaves behind are ended before the result is written."
)


def write_autograder(path, assignment, most):
    """Write the zip. Returns the text to print. assignment: an Assignment. most: the points that count.

    Ends the program with a sentence if the file exists.
    """
    if path.exists():
        sys.exit(f"{path} already exists: name another file, or move it away.")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for pattern in FILES_IN_ZIP:
            for file in sorted(ROOT.glob(pattern)):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, file.relative_to(ROOT))
        archive.writestr("failed.json", json.dumps(FAILED_RESULTS))
        archive.writestr("setup.sh", SETUP)
        archive.writestr("run_autograder", RUN)
        archive.writestr("assignment.toml", assignment_there(assignment))
    files.replace(path, made.getvalue())
    return HOW_TO_UPLOAD.format(path, most)


def assignment_there(assignment):
    """The assignment.toml for Gradescope.

    Students can read its results before the deadline, so these say where an answer goes wrong, but not how to fix it.
    It has a different seed, since an answer can read the seed where Gradescope offers no protection.
    """
    seed = hashlib.sha256(f"Gradescope {assignment.seed}".encode()).hexdigest() if assignment.seed else ""
    lines = [
        f"chapters = {json.dumps(assignment.chapters)}",
        f"late_percent = {assignment.late_percent}",
        f"seed = {json.dumps(seed)}",
        'feedback = "place"',
        "[points]",
        *(f"{json.dumps(id)} = {points}" for id, points in assignment.points.items()),
    ]
    return "\n".join([*lines, ""])
