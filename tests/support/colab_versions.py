"""An environment with the versions that Colab has."""

from course_utils.launch import environment
from tests.support import environments

VERSIONS = "tests/colab_versions.txt"
OURS = {"torch", "nbval"}  # what the course pins and the notebooks or the tests need
# named in the pytest options; what chapter 8 would install, and say so, but Colab has it
TESTS = {"pytest", "pytest-xdist", "safetensors", "tokenizers"}


def python():
    """Its Python."""
    wanted = [f"{name}=={version}" for name, version in environment.pins([VERSIONS])]
    wanted += [f"{name}=={version}" for name, version in environment.pins(["requirements.txt"]) if name in OURS]
    wanted += [f"{name}=={version}" for name, version in environment.pins(["tests/requirements.txt"]) if name in TESTS]
    return environments.python_with("colab", *wanted)
