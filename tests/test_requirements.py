"""What gets installed, and that importing the helpers costs next to nothing."""

import subprocess
import sys

import yaml

from course_utils.launch import environment
from tests import stored


def conda_pins():
    """(name, version) of the packages that environment.yml pins."""
    listed = yaml.safe_load((stored.ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    (from_pip,) = [entry["pip"] for entry in listed if isinstance(entry, dict)]
    return [tuple(line.split("==")) for line in from_pip]


def test_conda_gets_the_same_versions():
    assert conda_pins() == list(environment.pins(["requirements.txt"]))


def test_the_course_needs_its_six_packages_and_no_more():
    names = [name for name, _ in environment.pins(["requirements.txt"])]
    assert sorted(names) == ["ipywidgets", "jupyterlab", "jupytext", "matplotlib", "nbval", "torch"]


def test_every_requirement_is_pinned():
    assert all(version for _, version in environment.pins(["requirements.txt", "tests/requirements.txt"]))


def test_the_tests_run_with_the_versions_that_are_pinned():
    assert environment.missing(["requirements.txt", "tests/requirements.txt"], sys.path) == []


def test_installing_the_package_touches_nothing_else():
    import tomllib

    project = tomllib.loads((stored.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "dependencies" not in project, "on Colab it must leave torch, numpy and ipywidgets alone"


def modules_after(statement):
    """The names of the modules that a fresh Python has loaded after a statement."""
    code = f"{statement}; import sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_helpers_loads_nothing_heavy():
    assert modules_after("import course_utils") - modules_after("pass") == {"course_utils"}


def test_pictures_do_not_load_torch():
    assert "torch" not in modules_after("from course_utils import pictures")
