"""A chapter opened alone, as Colab would: no course beside it, and it installs the wheel that it was published with.

Once with the versions that the course pins; in every setting, each chapter with those that Colab has, all threads and
no vector instructions (the run of all notebooks is the other extreme), and one whose address was set by hand and which
installs from (a clone that stands for) GitHub.
"""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from course_tools import links, repository
from course_tools.build import code_digest, needed_files
from course_tools.repository import ROOT
from course_utils.exercises import CHAPTERS
from tests.support import bare_clone, colab_versions, environments, settings, stored
from tests.support.comparing import same_picture_in_the_large, same_text

OURS, COLABS = "our versions", "Colab's versions"
BY_HAND = "an address set by hand"
NAME = "ada/attention-course"
LOADED = """
import sys
files = {getattr(module, "__file__", None) for name, module in sys.modules.items() if name.startswith("course_utils")}
print(*(file for file in files - {None} if "chapter_" not in file), sep="\\n")
"""  # the course's files that a chapter has loaded in the end; of the exercises it needs its own only


@pytest.fixture(scope="session")
def colabs(tmp_path_factory):
    """A function that makes Colab with the packages of a setting, once."""
    return functools.cache(lambda setting: made(setting, tmp_path_factory.mktemp("colab")))


@pytest.fixture(params=[OURS])
def colab(request, colabs, monkeypatch):
    """A folder with an environment that this process starts kernels in, and with the course's wheel."""
    folder, variables = colabs(request.param)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return folder


def made(setting, folder):
    """(folder, variables): an environment with packages that may install more, and finds GitHub in a folder."""
    course = bare_clone.copy(folder / "github")
    bare_clone.commit(course)

    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(course)]
    subprocess.run(build, check=True)

    colabs_own = [colab_versions.python().parents[1]] if setting == COLABS else []
    python = environments.on_top_of(folder / "env", *colabs_own, sys.prefix)

    environments.kernel(folder / "jupyter", "colab", python)
    variables = {
        "JUPYTER_PATH": str(folder / "jupyter"),
        "COLAB_RELEASE_TAG": "release-colab",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{course.as_posix()}.insteadOf",
        "GIT_CONFIG_VALUE_0": f"https://github.com/{NAME}",
    }
    if setting == COLABS:  # threads that wait must not keep a core from those of other tests
        threads = {"OMP_NUM_THREADS": str(os.cpu_count()), "OMP_WAIT_POLICY": "passive"}
        variables |= threads | {"ATEN_CPU_CAPABILITY": "default"}
    return folder, variables


def modules(folder):
    """All modules of the course in a folder."""
    return {
        path.relative_to(folder) for path in (folder / "course_utils").rglob("*.py") if "solutions" not in path.parts
    }


def opened_alone(path, folder, name, wheel=None):
    """A chapter in an otherwise empty folder, with its address set to `name`; it finds its wheel, if any, in a file."""
    for installed in [folder / "content", *folder.glob("env/[Ll]ib/**/course_utils*")]:
        shutil.rmtree(installed, ignore_errors=True)
    (folder / "content").mkdir()
    notebook = stored.read(path)
    links.stamp_notebook(notebook, repository.relative(path), name)
    if wheel:
        (setup,) = [cell for cell in notebook.cells if cell.id == "setup"]
        setup.source = links.INSTALL_ADDRESS.sub(wheel.as_uri(), setup.source)
    nbformat.write(notebook, folder / "content" / path.name)
    return NotebookClient(
        notebook, kernel_name="colab", timeout=300, resources={"metadata": {"path": str(folder / "content")}}
    )


CASES = [
    pytest.param(OURS, stored.LEARNERS[0], True, id=OURS, marks=pytest.mark.in_matrix("a chapter alone")),
    pytest.param(OURS, stored.LEARNERS[0], False, id=BY_HAND, marks=pytest.mark.in_matrix(BY_HAND)),
    *[
        pytest.param(
            COLABS,
            path,
            True,
            id=f"{stored.name(path)}-{COLABS}",
            marks=settings.marks_of(path) or pytest.mark.in_matrix("all chapters on Colab's versions"),
        )
        for path in stored.LEARNERS
    ],
]


@pytest.mark.parametrize("colab, path, published", CASES, indirect=["colab"])
def test_a_chapter_alone_installs_its_helpers_and_prints_what_is_stored(colab, path, published):
    packages = [sorted(os.listdir(place)) for place in sys.path if place.endswith("site-packages")]
    client = opened_alone(path, colab, NAME, next(colab.glob("*.whl")) if published else None)
    client.nb.cells.append(nbformat.v4.new_code_cell(LOADED))
    client.execute()
    loaded = stored.printed(client.nb.cells.pop()).split()
    (site,) = environments.packages_in(colab / "env")
    assert modules(site) == modules(ROOT), "the helpers were installed"
    assert next(site.glob("course_utils/solutions/*.py")), "and what solution() shows"
    assert packages == [sorted(os.listdir(place)) for place in sys.path if place.endswith("site-packages")]

    assert inside_package(loaded) <= noticed(path), "a build would not notice that these changed"

    setup, *cells = zip(stored.code_cells(client.nb), stored.code_cells(stored.read(path)), strict=True)
    assert "save a copy in drive" in stored.printed(setup[0]).lower()
    for fresh, old in cells:
        assert same_text(stored.comparable(fresh), stored.comparable(old)), old.id
        for (picture, _), (before, _) in zip(stored.pictures(fresh), stored.pictures(old), strict=True):
            assert old.id.startswith("time-") or same_picture_in_the_large(picture, before), old.id


def inside_package(files):
    """The names of files within the course's package."""
    return {Path(file).as_posix().rpartition("course_utils/")[2] for file in files}


def noticed(path):
    """The files, as `inside_package` names them, of which a change makes a build run the notebook again.

    And those of other chapters' exercises, such as a piece that two share.
    """
    all_exercises = needed_files.files_needed_by(
        " ".join(f"course_utils.exercises.chapter_{chapter}" for chapter in CHAPTERS)
    )
    of_others = {file for file in all_exercises if file.parent.name == "exercises"}
    return inside_package([*code_digest.files_behind(stored.read(path).cells, int(path.name[:2])), *of_others])


@pytest.mark.any_chapter
@pytest.mark.every_setting("a chapter without its address")
def test_without_an_address_the_setup_cell_says_what_to_do(colab):
    with pytest.raises(CellExecutionError) as stopped:
        opened_alone(stored.PATHS[0], colab, "").execute()
    assert stopped.value.evalue.startswith("course_utils is not here: open this notebook inside a clone")
