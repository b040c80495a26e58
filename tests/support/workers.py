"""A pytest plugin: which worker runs which test. A notebook stays in one, all else goes wherever there is room."""

from pathlib import PurePath

import pytest

# what is set up once for each of these files takes longer than its tests
WHOLE = {
    "test_browser.py",
    "test_colab.py",
    "test_colab_versions.py",
    "test_environment.py",
    "test_nbgrader.py",
    "test_odd_places.py",
    "test_other_notebooks.py",
    "test_publish.py",
    "test_site.py",
}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Hand out whole notebooks first, then the tests one by one. (xdist's own loadgroup knows no ids of pytest 9.2.)"""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            return file if file.endswith(".ipynb") or PurePath(file).name in WHOLE else nodeid

    return Scheduling(config, log)
