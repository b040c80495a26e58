"""python3 -m course_tools links [OWNER/REPO]: set the repository's address wherever it occurs.

Without a name, it uses the git remote. It needs only Python.
"""

import re
import subprocess
import sys

from course_tools import links
from course_tools.repository import ROOT

ADDRESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+(?<!\.git)")
REMOTE = re.compile(r"(?:^|[/@.])github\.com(?::\d+)?[:/](?P<name>[^/]+/[^/]+?)(\.git)?/?$")


def main(arguments):
    """Set the address everywhere, or end with a sentence that says why not."""
    if len(arguments) > 1:
        sys.exit("usage: python3 -m course_tools links [OWNER/REPO]")
    name = arguments[0] if arguments else remote_address()
    if not ADDRESS.fullmatch(name):
        sys.exit(f"{name!r} is not an address: write OWNER/REPO, as on GitHub.")
    links.set_everywhere(name)
    print(f"Every link now leads to https://github.com/{name}")


def remote_address():
    """OWNER/REPO of the clone's git remote `origin`."""
    try:
        said = subprocess.run(["git", "remote", "get-url", "origin"], cwd=ROOT, capture_output=True).stdout
        answer = said.decode(errors="replace")
    except FileNotFoundError:  # no git
        answer = ""
    found = REMOTE.search(answer.strip())
    if not found:
        sys.exit("This clone has no remote on GitHub. Give the address: python3 -m course_tools links OWNER/REPO")
    return found["name"]
