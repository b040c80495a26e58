"""A pytest plugin: guarantees once, or with --all in every setting; with --chapters, those of some chapters.

A test with the mark every_setting(SETTING) shows in another setting what an unmarked one shows, or is slow and can wait
for CI. One with the mark in_matrix(WHAT) runs what takes minutes: with --long, which `test --matrix` adds, or where
nothing else was asked for.
"""

import random
import re
from collections import Counter
from pathlib import Path

import pytest

LEFT_OUT = pytest.StashKey()
LONG = {"11_a_model_that_speaks"}  # chapters whose notebooks take minutes to run
RUN_WHOLE = "run whole"
TWICE = "notebooks/, which differ from solutions/ in the stubs"
EXERCISE = re.compile(r"\d+\.\d+")  # an id


def pytest_addoption(parser):
    """The options that choose among the tests."""
    parser.addoption("--all", action="store_true", help="run tests in every setting, not only in one")
    parser.addoption("--seed", type=int, help="with --all: draw anew from this seed, as an earlier run did")
    parser.addoption("--long", action="store_true", help="also run what takes minutes, as --matrix does")
    parser.addoption("--chapters", default="", help="leave out what is about other chapters than these: 03,05")


def pytest_configure(config):
    config.stash[LEFT_OUT] = {}
    if config.option.seed is None:  # before workers start: they are handed the options, so all have the same seed
        config.option.seed = random.randrange(10**6)


def marks_of(path):
    """The marks of a test that runs a chapter's notebook."""
    return [pytest.mark.in_matrix(f"chapter {int(path.name[:2])}, {RUN_WHOLE}")] if path.stem in LONG else []


def pytest_itemcollected(item):
    """Mark the cells of notebooks that take minutes, and those that stand in two notebooks."""
    if item.path.suffix == ".ipynb":
        twice = [pytest.mark.every_setting(TWICE)] if item.path.parent.name == "notebooks" else []
        for mark in [*marks_of(item.path), *twice]:
            item.add_marker(mark)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave out other chapters, what takes minutes, and other settings, unless nothing else was asked for."""
    if chapters := {int(number) for number in config.option.chapters.split(",") if number}:
        others = [item for item in items if chapters_of(item) - chapters]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if not chapters_of(item) - chapters]
    for mark, option in [("in_matrix", "long"), ("every_setting", "all")]:
        marks = [(item, item.get_closest_marker(mark)) for item in items]
        kept = [item for item, found in marks if not found]
        if getattr(config.option, option) or not kept:
            skip_without_file([item for item, found in marks if found and found.args[0].endswith(RUN_WHOLE)])
            continue
        config.stash[LEFT_OUT][option] = dict(Counter(found.args[0] for _, found in marks if found))
        config.hook.pytest_deselected(items=[item for item, found in marks if found])
        items[:] = kept


def skip_without_file(items):
    """Skip what runs a chapter whole whose file cannot be had."""
    from tests.support import language_model  # it loads IPython, which few runs need

    if items and (reason := language_model.why_not()):
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


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
