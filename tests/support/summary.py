"""A pytest plugin: at the end, what was proved, what was not and why, and the command that changes it.

A skip's reason is a sentence about the machine, with that command where there is one.
"""

import ast
from collections import Counter

import pytest

from tests.support.settings import LEFT_OUT


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    """Write it above pytest's list of failures and its closing line, which counts and stays the last."""
    ended = {end: terminalreporter.stats.get(end, []) for end in ("passed", "skipped", "failed", "error")}
    terminalreporter.section("what this run proves")
    chosen = "all that was chosen, except what follows" if any(ended.values()) else "nothing was chosen"
    terminalreporter.line(f"Proved ({len(ended['passed'])} passed): {chosen}.")
    if broken := len(ended["failed"] + ended["error"]):
        terminalreporter.line(f"Disproved ({broken} failed): listed below.")
    for reason, files in unproved(ended["skipped"]).items():
        terminalreporter.line(f"Not proved ({files.total()} skipped): {reason}")
        for file, count in files.most_common():
            terminalreporter.line(f"    {file} ({count}): {about(config.rootpath / file)}")
    if config.option.all:
        terminalreporter.line(f"Drawn anew from --seed={config.option.seed}.")
    for option, proves in {"all": "--all", "long": "--matrix"}.items():
        if left_out := config.stash[LEFT_OUT].get(option):
            what = ", ".join(f"{setting} ({count})" for setting, count in left_out.items())
            terminalreporter.line(f"Left out, and proved with {proves}: {what}.")


def unproved(reports):
    """{reason: how many tests of which file were skipped for it}, from pytest's reports of skipped tests."""
    found = {}
    for report in reports:
        reason = report.longrepr[2].removeprefix("Skipped: ")
        found.setdefault(reason, Counter())[report.nodeid.partition("::")[0]] += 1
    return found


def about(file):
    """What a file of tests is about: the first line of its docstring."""
    words = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) if file.suffix == ".py" else None
    return words.partition("\n")[0] if words else "a notebook"
