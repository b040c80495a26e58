"""JupyterLab in a real browser, for the tests that look at what a learner sees."""

import contextlib
import os
import re

import pytest

from course_tools.build import chromium
from course_tools.build.still_pictures import CHROMIUM, CHROMIUM_OPTIONS
from tests.support import server

needs_chromium = pytest.mark.skipif(
    not CHROMIUM and not os.environ.get("CI"),
    reason=f"no Chromium, Chrome or Edge on this machine (to get one: {chromium.install_command()})",
)
SECONDS = 300  # for one chapter, on a busy machine
OPEN = """async path => {
    [...window.jupyterapp.shell.widgets("main")].forEach(shown => shown.dispose());  // whether saved or not
    await window.jupyterapp.commands.execute("docmanager:open", {path});
}"""


@contextlib.contextmanager
def lab(clone, name):
    """(page, address): the notebook work/name in the JupyterLab that the README's command starts, open to scripts."""
    from playwright.sync_api import sync_playwright

    own = [f"--LabApp.{kind}_dir={clone / kind}" for kind in ("user_settings", "workspaces")]  # not those of who tests
    steered = "--LabApp.expose_app_in_browser=True"
    with server.lab(clone, *own, steered) as (_, address), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_OPTIONS)
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        load(page, address, name)
        yield page, address
        browser.close()


def load(page, address, name):
    """Load JupyterLab with the notebook work/name alone, and not beside those opened before."""
    page.goto(re.sub(r"work/.*\?", f"work/{name}?reset&", address))
    see_heading(page)


def open_in(page, name):
    """Open the notebook work/name in the JupyterLab that a page has loaded, in place of those it shows."""
    page.evaluate(OPEN, f"work/{name}")
    see_heading(page)


def see_heading(page):
    """Wait until a page shows a notebook's heading."""
    page.locator(".jp-Notebook h1").first.wait_for(timeout=SECONDS * 1000)


def choose(page, *entries):
    """Choose an entry of JupyterLab's menus: "Run", "Run All Cells"."""
    menu, *others = entries
    page.get_by_role("menuitem", name=menu, exact=True).click()
    for entry in others:
        page.get_by_role("menuitem", name=entry, exact=True).click()
