"""A chapter opened alone, as Colab would: no course beside it, the address set to (a clone that stands for) GitHub."""

import json
import os
import shutil
import subprocess
import sys
import venv

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from course_utils import repository
from course_utils.authoring import links
from tests.support import bare_clone, stored

NAME = "ada/attention-course"


@pytest.fixture(scope="module")
def colab(tmp_path_factory):
    """An environment that sees the packages installed here, may install more, and finds GitHub in a local folder."""
    folder = tmp_path_factory.mktemp("colab")
    course = bare_clone.copy(folder / "github")
    for command in ["init -q", "add -A", "-c user.name=x -c user.email=x@example.org commit -qm x"]:
        subprocess.run(["git", "-C", str(course), *command.split()], check=True)

    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    (site,) = [*folder.glob("env/lib/python3*/site-packages"), *folder.glob("env/Lib/site-packages")]
    installed = [path for path in sys.path if path.endswith("site-packages")]
    (site / "packages_of_the_tests.pth").write_text("\n".join(installed))

    kernel = folder / "jupyter/kernels/colab"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(
        json.dumps(
            {
                "argv": [python.as_posix(), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                "display_name": "colab",
                "language": "python",
            }
        )
    )
    environment = os.environ | {
        "JUPYTER_PATH": str(folder / "jupyter"),
        "COLAB_RELEASE_TAG": "release-colab",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{course.as_posix()}.insteadOf",
        "GIT_CONFIG_VALUE_0": f"https://github.com/{NAME}",
    }
    return folder, environment


def opened_alone(path, folder, name):
    """A chapter in an otherwise empty folder, with its address set to `name`."""
    shutil.rmtree(folder / "content", ignore_errors=True)
    (folder / "content").mkdir()
    notebook = stored.read(path)
    links.stamp_notebook(notebook, repository.relative(path), name)
    nbformat.write(notebook, folder / "content" / path.name)
    return NotebookClient(
        notebook, kernel_name="colab", timeout=300, resources={"metadata": {"path": str(folder / "content")}}
    )


@pytest.fixture(autouse=True)
def as_on_colab(colab, monkeypatch):
    """Give this process, and so its kernels, the environment variables of Colab."""
    for name, value in colab[1].items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("path", [path for path in stored.PATHS if path.parent.name == "notebooks"], ids=stored.name)
def test_a_chapter_alone_installs_its_helpers_and_runs(path, colab):
    folder, _ = colab
    packages = [sorted(os.listdir(place)) for place in sys.path if place.endswith("site-packages")]
    client = opened_alone(path, folder, NAME)
    client.execute()
    setup = stored.code_cells(client.nb)[0]
    assert "save a copy in drive" in stored.printed(setup).lower()
    assert next(folder.glob("env/[Ll]ib/**/course_utils/pictures.py")), "the helpers were installed"
    assert next(folder.glob("env/[Ll]ib/**/course_utils/solutions/*.py")), "and what solution() shows"
    assert packages == [sorted(os.listdir(place)) for place in sys.path if place.endswith("site-packages")]


def test_without_an_address_the_setup_cell_says_what_to_do(colab):
    folder, _ = colab
    for installed in folder.glob("env/[Ll]ib/**/course_utils"):
        shutil.rmtree(installed)
    with pytest.raises(CellExecutionError) as stopped:
        opened_alone(stored.PATHS[0], folder, "").execute()
    assert stopped.value.evalue.startswith("course_utils is not here: open this notebook inside a clone")
