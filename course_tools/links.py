"""Set the repository's address wherever it occurs, and write the pages of links. Standard library only.

The address is kept in pyproject.toml; from there it goes into the chapters' sources and notebooks (badge and setup
cell), the README's table and colab_links.md. Nothing is re-executed, and without an address there are no badges.
"""

import json
import re
import sys
from urllib.parse import quote

from course_tools import repository
from course_tools.repository import ROOT
from course_utils import files

PUBLISHED = "published"  # the branch of the stamped copy; its notebooks install one exact version

ADDRESS_LINE = re.compile(r"""^(repository = )["'].*?["']""", re.MULTILINE)  # in pyproject.toml
SETUP_LINE = re.compile(r'^REPOSITORY = ".*?"', re.MULTILINE)  # in a setup cell
INSTALL_ADDRESS = re.compile(r"(?<=%pip install -q --no-deps )\S+$", re.MULTILINE)  # there, too
NEWEST_VERSION = "git+https://github.com/{REPOSITORY}"
TITLE = r"# (?:Chapter |Notes$).*\n"  # the button goes below it


def set_everywhere(name):
    """Write the address into every file that holds it; the empty name takes it out."""
    pyproject = ROOT / "pyproject.toml"
    text, found = ADDRESS_LINE.subn(rf'\1"{name}"', pyproject.read_text(encoding="utf-8"))
    if found != 1:
        sys.exit('pyproject.toml should hold one line `repository = ""` in [tool.course]. Nothing was changed.')
    write(pyproject, text)
    for source in repository.sources():
        write(source, stamp_source(source.read_text(encoding="utf-8"), source.stem, name))
    for path in repository.stored():
        notebook = json.loads(path.read_text(encoding="utf-8"))
        stamp_notebook(notebook, repository.relative(path), name)
        # the form in which nbformat writes, so that a build finds nothing to change
        write(path, json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    write_pages()


# --- the address in a source or a notebook -------------------------------------------------------------------------


def stamp_source(text, stem, name):
    """The source of the chapter `stem` with the address `name` in it; the empty name takes it out."""
    return stamp(text, f"solutions/{stem}.ipynb", name, comment="# ")


def stamp_notebook(notebook, path, name):
    """Put the address into the cells of a notebook (a dictionary), in place."""
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        stamped = stamp(text, path, name)
        if stamped != text:
            is_text = isinstance(cell["source"], str)
            cell["source"] = stamped if is_text else stamped.splitlines(keepends=True)


def without_address(code):
    """A code cell's text as it was before an address was set."""
    return INSTALL_ADDRESS.sub(NEWEST_VERSION, SETUP_LINE.sub('REPOSITORY = ""', code))


def stamp(text, path, name, comment=""):
    """The text of a cell, or of a whole source whose prose follows `comment`, with the address in it."""
    text = SETUP_LINE.sub(f'REPOSITORY = "{name}"', without_badge(without_address(text), comment))
    if name and repository.branch() == PUBLISHED:
        text = INSTALL_ADDRESS.sub(wheel_address(name), text)
    blank = comment.rstrip() + "\n"
    if name:
        title = re.compile(rf"^{comment}{TITLE}{blank}", re.MULTILINE)
        text = title.sub(lambda found: f"{found[0]}{comment}{badge(path, name)}\n{blank}", text, count=1)
    return text


def without_badge(text, comment=""):
    """The text without the button that opens Colab."""
    return re.sub(rf"^{comment}\[!\[Open in Colab\].*\n{comment.rstrip()}\n", "", text, flags=re.MULTILINE)


def badge(path, name):
    """Markdown for the button that opens a notebook on Colab."""
    button = "https://colab.research.google.com/assets/colab-badge.svg"
    return f"[![Open in Colab]({button})]({address('colab', path, name)})"


def wheel_address(name):
    """The address of this version's wheel, which never changes."""
    version = repository.project()["project"]["version"]
    return f"https://github.com/{name}/releases/download/v{version}/course_utils-{version}-py3-none-any.whl"


# --- pages made of links -------------------------------------------------------------------------------------------


LINK_TARGETS = {  # where a notebook opens, from GitHub; in a JupyterHub, nbgitpuller fetches the course first
    "colab": "https://colab.research.google.com/github/{owner}/{repo}/blob/{branch}/{path}",
    "kaggle": "https://kaggle.com/kernels/welcome?src=https://github.com/{owner}/{repo}/blob/{branch}/{path}",
    "binder": "https://mybinder.org/v2/gh/{owner}/{repo}/{branch}?labpath={quoted}",
    "jupyterhub": "https://HUB/hub/user-redirect/git-pull?repo=https%3A%2F%2Fgithub.com%2F{owner}%2F{repo}"
    "&branch={branch}&urlpath=lab%2Ftree%2F{repo}%2F{quoted}",
    "download": "https://raw.githubusercontent.com/{owner}/{repo}/{branch}/{path}",
}


def address(place, path, name):
    """Where a notebook opens in one of the LINK_TARGETS."""
    owner, _, repo = name.partition("/")
    branch, quoted = repository.branch(), quote(path, safe="")
    return LINK_TARGETS[place].format(owner=owner, repo=repo, branch=branch, path=path, quoted=quoted)


def site_address(name):
    """Where GitHub Pages shows the site."""
    owner, _, repo = name.partition("/")
    return f"https://{owner.lower()}.github.io/{'' if repo.lower() == f'{owner.lower()}.github.io' else f'{repo}/'}"


def write_pages():
    """Write colab_links.md and the table of chapters in the README."""
    name = repository.address()
    readme = ROOT / "README.md"
    table = re.compile(r"(<!-- chapters: .*? -->\n).*?(<!-- end of chapters -->)", re.DOTALL)
    text = readme.read_text(encoding="utf-8")
    write(readme, table.sub(lambda found: found[1] + chapter_table(name) + found[2], text))
    write(ROOT / "colab_links.md", link_page(name))


def chapter_table(name):
    """The README's table of chapters, with links that work on GitHub and, once there is an address, on Colab."""
    lines = ["| chapter | what it is about | minutes | solved |", "| --- | --- | --- | --- |"]
    for path in repository.learners():
        title, summary, minutes = chapter_heading(path)
        place = f"notebooks/{path.name}"
        button = f" {badge(place, name)}" if name else ""
        lines.append(f"| [{title}]({place}){button} | {summary} | {minutes} | [solved](solutions/{path.name}) |")
    return "\n".join(lines) + "\n"


def chapter_heading(path):
    """(title with its number, summary, minutes) of the chapter in a stored notebook."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    heading = "".join(notebook["cells"][0]["source"]).partition("\n")[0]
    summary, minutes = notebook["metadata"]["course"]["summary"], notebook["metadata"]["source"]["minutes"]
    return heading.removeprefix("# ").removeprefix("Chapter "), summary, minutes


WAYS_TABLE = """\
# Ways to open a chapter

| way | what it costs | what it keeps |
| --- | --- | --- |
| **your machine**: `python3 -m course_tools lab` in a clone | Python 3.11 to 3.14, 2 GB | everything, in `work/` |
| **Colab** | a Google account | what you save with File > Save a copy in Drive |
| **Kaggle** | a Kaggle account, with internet access switched on in the settings | what you save there |
| **Binder** | nothing, but it takes a few minutes to start | nothing: download your notebook before you leave |
| **Codespaces** | a GitHub account and some of its free hours | everything, until the codespace is deleted |
| **your JupyterHub** | an account there; the hub needs nbgitpuller | everything, in your home folder |
| **the site** (read only) | nothing | which answers you opened |
"""

WAYS_WITHOUT_ADDRESS = """
This copy of the course does not know its GitHub address, so it has no links. You can still open:

* **the whole course**: Run `git clone`, or choose Code > Download ZIP on its GitHub page and unpack the file. In the
  course's folder, run `python3 -m course_tools lab`.
* **one chapter in Colab**: Open its notebook on GitHub; the table below has its path. In the browser's address bar,
  replace `github.com` with `colab.research.google.com/github`. Or in Colab, choose File > Open notebook > GitHub, enter
  the repository's address, and choose the same path. In either case, write OWNER/REPO from that address between the
  quotes of `REPOSITORY = ""` in the first code cell, which installs the helpers.

After the first push to GitHub, the branch `published` has this page with all links, and the README links to it. To add
the links here, run `python3 -m course_tools links OWNER/REPO`.
"""


def link_page(name):
    """The text of colab_links.md."""
    if not name:
        return WAYS_TABLE + WAYS_WITHOUT_ADDRESS + "\n" + paths_table()
    codespaces = f"https://codespaces.new/{name}?ref={repository.branch()}"
    lines = [
        "",
        f"Read the course on [the site]({site_address(name)}), or open all of it in [Codespaces]({codespaces}). For",
        "your own JupyterHub, replace `HUB` in the link with the hub's address.",
        "",
        f"| notebook | {' | '.join(LINK_TARGETS)} |",
        f"| --- |{' --- |' * len(LINK_TARGETS)}",
    ]
    for path in map(repository.relative, repository.stored()):
        cells = [f"[{place}]({address(place, path, name)})" for place in LINK_TARGETS]
        lines.append(f"| {path} | {' | '.join(cells)} |")
    return WAYS_TABLE + "\n".join(lines) + "\n"


def paths_table():
    """A table of all chapters with their paths, not as links: the site also shows this page, but has no such files."""
    lines = ["| chapter | path (the solved notebook has the same name in `solutions/`) |", "| --- | --- |"]
    lines += [f"| {chapter_heading(path)[0]} | `{repository.relative(path)}` |" for path in repository.learners()]
    return "\n".join(lines) + "\n"


def write(path, text):
    """Write a text, unless the file already has it."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        files.replace(path, text.encode())
