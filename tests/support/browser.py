"""JupyterLab in a real browser, Debian's Chromium, for the tests that look at what a learner sees."""

import contextlib
import os
import re
import sys

import pytest

from course_utils.authoring.stills import CHROMIUM, OPTIONS
from tests.support import server

needs_chromium = pytest.mark.skipif(
    not CHROMIUM and not (os.environ.get("CI") and sys.platform == "linux"), reason="no Chromium on this machine"
)
SECONDS = 300  # for one chapter, on a busy machine


@contextlib.contextmanager
def lab(clone, *options):
    """(browser, address): Chromium, and the JupyterLab that the README's command starts, with more options."""
    from playwright.sync_api import sync_playwright

    own = [f"--LabApp.{kind}_dir={clone / kind}" for kind in ("user_settings", "workspaces")]  # not those of who tests
    with server.lab(clone, *own, *options) as (_, address), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser, address
        browser.close()


def open_notebook(browser, address, name):
    """A page with the notebook work/name, alone in its workspace and not beside those opened before."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    return open_in(page, address, name)


def open_in(page, address, name):
    """The same in a page that is there already."""
    page.goto(re.sub(r"work/.*\?", f"work/{name}?reset&", address))
    page.locator(".jp-Notebook h1").first.wait_for(timeout=SECONDS * 1000)
    return page


def choose(page, *entries):
    """Choose an entry of JupyterLab's menus: "Run", "Run All Cells"."""
    menu, *others = entries
    page.get_by_role("menuitem", name=menu, exact=True).click()
    for entry in others:
        page.get_by_role("menuitem", name=entry, exact=True).click()
