"""A copy of what a clone holds, in a folder of its own, so that tests can install, open and change things there."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from course_tools.repository import ROOT

STAMP = """
import json
from course_tools import repository
from course_tools.build.code_digest import code_digest
for path in repository.stored():
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["metadata"]["source"]["code"] = code_digest(notebook["cells"], int(path.name[:2]))
    path.write_text(json.dumps(notebook), encoding="utf-8")
"""


def copy(target: Path):
    """Copy all that git would track, changed or new files included, to `target`."""
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    anywhere = shutil.ignore_patterns(".git", *(line.strip("/") for line in lines if not line.startswith("/")))
    on_top = shutil.ignore_patterns(*(line.strip("/") for line in lines if line.startswith("/")))

    def ignored(folder, names):
        return anywhere(folder, names) | (on_top(folder, names) if Path(folder) == ROOT else set())

    shutil.copytree(ROOT, target, ignore=ignored, dirs_exist_ok=True)
    return target


def python(clone, *arguments, env=None):
    """Run Python with these arguments in a clone, to its end."""
    return subprocess.run([sys.executable, *arguments], cwd=clone, env=env, capture_output=True, encoding="utf-8")


def command(clone, *arguments, env=None):
    """Run one of the course's commands in a clone, to its end."""
    return python(clone, "-m", "course_tools", *arguments, env=env)


def stamp(clone):
    """Let a clone's notebooks count as built from the code there. Says whether that was possible."""
    return python(clone, "-c", STAMP).returncode == 0


def git(clone, *arguments):
    """Run git in a clone, as somebody."""
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", "-C", clone, *who, *arguments], check=True)


def commit(clone):
    """Give a clone a history: one commit with all that it holds."""
    git(clone, "init", "-q", "-b", "main")
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "first")


def tiny_wheel(folder: Path, name="tiny", version="1.0", content=""):
    """Write a wheel of one module into `folder`: something to install that takes no network and no time."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": content,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, text in (files | {f"{info}/RECORD": record}).items():
            wheel.writestr(path, text)
