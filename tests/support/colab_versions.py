"""An environment with the versions that Colab has."""

from course_tools import environment
from tests.support import environments

VERSIONS = "tests/colab_versions.txt"


def python():
    """Its Python."""
    return environments.python_with("colab", *(f"{name}=={version}" for name, version in environment.pins([VERSIONS])))
