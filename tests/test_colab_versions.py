"""With Colab's versions of what draws and shows, solutions are right and widgets valid; test_colab has the chapters."""

import json
import os
import subprocess

import pytest

from course_tools import environment
from course_tools.repository import ROOT
from tests.support import colab_versions

pytestmark = pytest.mark.in_matrix("Colab's versions")


@pytest.fixture(scope="module")
def python():
    """The Python of an environment with Colab's versions."""
    return colab_versions.python()


def run(python, *arguments):
    """The finished process of a command in that environment, in the repository's root."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run([python, *arguments], cwd=ROOT, env=own, capture_output=True, encoding="utf-8")


def test_the_environment_has_the_versions_that_are_written_down(python):
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    names, versions = zip(*environment.pins([colab_versions.VERSIONS]))
    assert run(python, "-c", code, *names).stdout.split() == list(versions)


def test_every_solution_is_right(python):
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_exercises.py", "-k", "solution_earns"]
    tested = run(python, *command)
    assert tested.returncode == 0, tested.stdout[-5000:] + tested.stderr[-1000:]


FIGURES = """
from course_utils import live
from course_utils.attention import CausalAttention
from course_utils.live import interactive
from tests.support import examples

show = interactive.show

def moved(controls, figure):
    show(controls, figure)
    for control, value in zip(controls, (2, 0.5, 7)):
        control.value = value

interactive.show = moved
live.try_layer(lambda length, dropout: CausalAttention(4, 2, length, dropout), examples.inputs(), examples.TOKENS)
for name in examples.FIGURES:
    examples.figure(name).show()
"""
LISTEN = """
import json, sys
from jupyter_client.manager import start_new_kernel

sent = []
def keep(message):
    if message["msg_type"] in ("comm_open", "comm_msg", "display_data", "update_display_data", "error"):
        sent.append((message["msg_type"], message["content"]))

manager, client = start_new_kernel(kernel_name="python3")
client.execute_interactive(sys.argv[1], output_hook=keep, timeout=120)
manager.shutdown_kernel(now=True)
print(json.dumps(sent))
"""


def test_the_widgets_are_of_the_models_that_colab_has_and_say_only_what_these_know(python):
    said = run(python, "-c", LISTEN, FIGURES)
    assert said.returncode == 0, said.stderr
    messages = json.loads(said.stdout.splitlines()[-1])
    assert not [content for kind, content in messages if kind == "error"]
    opened = {content["comm_id"]: content["data"]["state"] for kind, content in messages if kind == "comm_open"}
    models = {(state["_model_module"], state["_model_module_version"]) for state in opened.values()}
    assert models == {("@jupyter-widgets/base", "1.2.0"), ("@jupyter-widgets/controls", "1.5.0")}
    updates = [(content["comm_id"], content["data"]["state"]) for kind, content in messages if kind == "comm_msg"]
    for comm, state in updates:
        assert set(state) <= set(opened[comm])
    followed = [content for kind, content in messages if kind == "update_display_data"]
    assert len(followed) == 3 and all("course-figure" in content["data"]["text/html"] for content in followed)
