"""The repository's address, set wherever it stands, and the pages made of links. Standard library only.

The address is kept in pyproject.toml; from there it goes into the chapters' sources and notebooks (badge and setup
cell), the README's table and colab_links.md. Nothing is re-executed, and without an address there are no badges.
"""

import json
import re
import sys
from urllib.parse import quote

from course_utils import files, repository
from course_utils.repository import ROOT

BRANCH = "main"

PINNED = re.compile(r"""^(repository = )["'].*?["']""", re.MULTILINE)  # in pyproject.toml
SETUP = re.compile(r'^REPOSITORY = ".*?"', re.MULTILINE)  # in a setup cell


def set_everywhere(name):
    """Write the address into every file that holds it; the empty name takes it out."""
    pyproject = ROOT / "pyproject.toml"
    text, found = PINNED.subn(rf'\1"{name}"', pyproject.read_text(encoding="utf-8"))
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
    """A code cell's text as it is before an address is set."""
    return SETUP.sub('REPOSITORY = ""', code)


def stamp(text, path, name, comment=""):
    """The text of a cell, or of a whole source whose prose stands behind `comment`, with the address in it."""
    text = SETUP.sub(f'REPOSITORY = "{name}"', text)
    blank = comment.rstrip() + "\n"
    text = re.sub(rf"^{comment}\[!\[Open in Colab\].*\n{blank}", "", text, flags=re.MULTILINE)
    if name:
        title = re.compile(rf"^{comment}# Chapter .*\n{blank}", re.MULTILINE)
        text = title.sub(lambda found: f"{found[0]}{comment}{badge(path, name)}\n{blank}", text, count=1)
    return text


def badge(path, name):
    """Markdown for the button that opens a notebook on Colab."""
    return f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab(path, name)})"


# --- pages made of links -------------------------------------------------------------------------------------------


def colab(path, name):
    """Where Colab opens a notebook from GitHub."""
    return f"https://colab.research.google.com/github/{name}/blob/{BRANCH}/{path}"


def binder(path, name):
    """Where Binder builds environment.yml and opens a notebook in JupyterLab."""
    return f"https://mybinder.org/v2/gh/{name}/{BRANCH}?labpath={quote(path, safe='')}"


def kaggle(path, name):
    """Where Kaggle imports a notebook from GitHub."""
    return f"https://kaggle.com/kernels/welcome?src=https://github.com/{name}/blob/{BRANCH}/{path}"


def jupyterhub(path, name):
    """The part after the hub's own address that makes nbgitpuller fetch the course and open a notebook."""
    lab = quote(f"lab/tree/{name.partition('/')[2]}/{path}", safe="")
    repo = quote(f"https://github.com/{name}", safe="")
    return f"https://HUB/hub/user-redirect/git-pull?repo={repo}&branch={BRANCH}&urlpath={lab}"


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
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        about = json.loads(path.read_text(encoding="utf-8"))["metadata"]
        course, minutes = about["course"], about["source"]["minutes"]
        place = f"notebooks/{path.name}"
        title = f"[{int(path.name[:2])} · {course['title']}]({place})"
        if name:
            title += f" {badge(place, name)}"
        lines.append(f"| {title} | {course['summary']} | {minutes} | [solved](solutions/{path.name}) |")
    return "\n".join(lines) + "\n"


def link_page(name):
    """The text of colab_links.md."""
    head = "# Open a chapter without installing anything\n\n"
    if not name:
        return head + "The course has no address yet. Set it with `python3 -m course_utils links OWNER/REPO`.\n"
    lines = [
        "Made by `python3 -m course_utils links`. For your own JupyterHub, put its address in the place of `HUB`;",
        "it needs nbgitpuller.",
        "",
        "| notebook | Colab | Binder | Kaggle | JupyterHub |",
        "| --- | --- | --- | --- | --- |",
    ]
    for path in map(repository.relative, repository.stored()):
        cells = [f"[{place.__name__}]({place(path, name)})" for place in (colab, binder, kaggle, jupyterhub)]
        lines.append(f"| {path} | {' | '.join(cells)} |")
    return head + "\n".join(lines) + "\n"


def write(path, text):
    """Write a text; leave the file alone if it says the same already."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        files.replace(path, text.encode())
