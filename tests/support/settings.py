"""A pytest plugin: every guarantee once, or with --all in every setting; with --chapters, those of some chapters.

A test with the mark every_setting(SETTING) shows in another setting what an unmarked one shows, too.
"""

import random
import re
from collections import Counter
from pathlib import Path

import pytest

LEFT_OUT = pytest.StashKey()
EXERCISE = re.compile(r"\d+\.\d+")  # an id


def pytest_addoption(parser):
    """The options that choose among the tests."""
    parser.addoption("--all", action="store_true", help="prove every guarantee in every setting, not only once")
    parser.addoption("--seed", type=int, help="with --all: draw anew from this seed, as an earlier run did")
    parser.addoption("--chapters", default="", help="leave out what is about other chapters than these: 03,05")


def pytest_configure(config):
    config.stash[LEFT_OUT] = {}
    if config.option.seed is None:  # before workers start: they are handed the options, so all have the same seed
        config.option.seed = random.randrange(10**6)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave out other chapters, and the other settings, unless nothing else was asked for."""
    if chapters := {int(number) for number in config.option.chapters.split(",") if number}:
        others = [item for item in items if chapters_of(item) - chapters]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if not chapters_of(item) - chapters]
    marks = [(item, item.get_closest_marker("every_setting")) for item in items]
    once = [item for item, mark in marks if not mark]
    if config.option.all or not once:
        return
    config.stash[LEFT_OUT] = dict(Counter(mark.args[0] for _, mark in marks if mark))
    config.hook.pytest_deselected(items=[item for item, mark in marks if mark])
    items[:] = once


def chapters_of(item):
    """The chapters that a test is about, as its parameters say."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    return {number for name, value in given.items() if (number := chapter_of(name, value))}


def chapter_of(name, value):
    """The chapter that a parameter is about: a notebook, an exercise or its answer, or a chapter's number; or None."""
    if isinstance(value, Path) and value.name[:2].isdigit():
        return int(value.name[:2])
    if name == "chapter":
        return value
    exercise = value if name == "id" and EXERCISE.fullmatch(str(value)) else getattr(value, "exercise", "")
    return getattr(value, "chapter", None) or (int(exercise.partition(".")[0]) if exercise else None)


def pytest_sessionfinish(session):
    """Tell the process that started this worker what was left out: the worker alone collected it."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Hear it."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left out", {})
