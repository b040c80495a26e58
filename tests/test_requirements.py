"""What gets installed, and that importing the helpers costs next to nothing."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires

import yaml
from packaging.requirements import Requirement

from course_tools import environment, supported_pythons
from course_tools.__main__ import COMMANDS
from course_tools.repository import ROOT
from tests.support import bare_clone, matrix


def conda_pins():
    """(name, version) of the packages that environment.yml pins."""
    listed = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    (from_pip,) = [entry["pip"] for entry in listed if isinstance(entry, dict)]
    return [tuple(line.split("==")) for line in from_pip]


def test_conda_gets_the_same_versions():
    assert conda_pins() == list(environment.pins(["requirements.txt"]))


def test_the_course_needs_its_six_packages_and_no_more():
    names = [name for name, _ in environment.pins(["requirements.txt"])]
    assert sorted(names) == ["ipywidgets", "jupyterlab", "jupytext", "matplotlib", "nbval", "torch"]


def test_every_place_names_the_same_pythons():
    listed = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    matrix = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest, *_, newest = matrix["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert f"python={oldest}" in listed
    assert (ROOT / ".binder/runtime.txt").read_text(encoding="utf-8") == f"python-{oldest}\n"
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    assert container["image"].endswith(f"python:{oldest}") and "-r requirements.txt" in container["postCreateCommand"]
    major, minor = newest.split(".")
    assert project["requires-python"] == f">={oldest},<{major}.{int(minor) + 1}"
    assert supported_pythons.pythons_in_words() == f"{oldest} to {newest}"
    for page in ["README.md", "colab_links.md"]:
        assert f"Python {oldest} to {newest}" in (ROOT / page).read_text(encoding="utf-8")


def test_the_commands_that_people_and_ci_are_told_to_run_exist():
    for page in ["README.md", "course_tools/grading/README.md", ".ci/run", *(ROOT / ".github/workflows").glob("*.yml")]:
        commands = re.findall(r"python3 -m course_tools (\w+)", (ROOT / page).read_text(encoding="utf-8"))
        assert commands and set(commands) <= set(COMMANDS)
    assert (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()[-1] == "python3 -m course_tools test --all"


def test_the_tests_run_with_the_versions_that_are_pinned():
    assert (
        environment.missing(["requirements.txt", "course_tools/requirements.txt", "tests/requirements.txt"], sys.path)
        == []
    )


def test_docutils_is_the_newest_that_the_sites_packages_take():
    """When this fails, raise the pin in course_tools/requirements.txt, where the reason for it stands."""
    pin = dict(environment.pins(["course_tools/requirements.txt"]))["docutils"]
    major, minor, _ = map(int, pin.split("."))
    needed = [Requirement(line) for name in ("Sphinx", "myst-parser") for line in requires(name)]
    taken = [each.specifier for each in needed if each.name == "docutils"]
    assert all(pin in each for each in taken) and not all(f"{major}.{minor + 1}" in each for each in taken)


def test_where_a_package_of_the_tests_is_missing_pytest_says_so_and_goes_on(tmp_path):
    bare_clone.copy(tmp_path)
    with open(tmp_path / "tests/requirements.txt", "a", encoding="utf-8") as pins:
        pins.write("nowhere==1.0\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/test_stubs.py"]
    elsewhere = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=tmp_path, env=elsewhere, capture_output=True, encoding="utf-8")
    assert "-r tests/requirements.txt: nowhere is missing here" in done.stdout, done.stdout + done.stderr
    assert "1 skipped" in done.stdout and "error" not in done.stdout


def test_installing_the_package_replaces_nothing_on_colab():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / "tests/colab_versions.txt").read_text(encoding="utf-8").splitlines()
    there = dict(line.split("==") for line in lines if not line.startswith("#")) | {"torch": matrix.COLABS}
    for needed in map(Requirement, project["dependencies"]):
        assert needed.specifier.contains(there[needed.name]), f"Colab has {needed.name} {there[needed.name]}"


def test_whoever_cites_the_course_cites_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["version"] == project["version"] and " AND ".join(citation["license"]) == project["license"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in project["authors"]]


def modules_after(statement):
    """The names of the modules that a fresh Python has loaded after a statement."""
    code = f"{statement}; import sys; print(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True).stdout.split()
    )


def test_importing_the_helpers_loads_nothing_heavy():
    assert modules_after("import course_utils") - modules_after("pass") == {"course_utils"}


def test_pictures_do_not_load_torch():
    assert "torch" not in modules_after("from course_utils import pictures")
