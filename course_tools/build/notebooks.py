"""Make notebooks from their sources, run those whose code changed, store them.

A notebook keeps its outputs while its code and everything behind it are unchanged: a changed sentence runs nothing.
Nothing is written outside notebooks/, solutions/ and the generated links. If a chapter fails to run, its stored
notebooks are not changed.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from course_tools import links, repository
from course_tools.build import chapter, moving_picture, still_pictures
from course_utils import files

CELL_TIMEOUT = 300  # seconds; no cell of the course comes near it


def build(chosen):
    """Build these sources' chapters, then the pages that link to them. Ends the program if a chapter does not run."""
    os.environ["COURSE_PROGRESS"] = ""  # so that outputs do not depend on earlier runs
    for source in chosen:
        made = chapter.notebooks(source, repository.address())
        for path, notebook in made.items():
            if reuse_outputs(notebook, path):
                print(f"{repository.relative(path)}: no code changed, outputs kept", flush=True)
            else:
                print(f"running {repository.relative(path)} ...", flush=True)
                execute(notebook, path)
        for path, notebook in made.items():  # they are stored only if both run
            add_alt_texts(notebook)
            notebook.metadata.source["outputs"] = outputs_digest(notebook)
            files.replace(path, nbformat.writes(notebook).encode() + b"\n")
    links.write_pages()
    moving_picture.update()


def reuse_outputs(notebook, path):
    """Give a notebook its stored outputs if they are from the same code. Returns whether they are."""
    if not path.exists():
        return False
    stored = nbformat.read(path, as_version=4)
    before = stored.metadata.get("source", {})
    code = notebook.metadata.source["code"]
    if before.get("code") != code or before.get("outputs") != outputs_digest(stored):
        return False
    cells = {cell.id: cell for cell in stored.cells}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = cells[cell.id].outputs, cells[cell.id].execution_count
    return True


def execute(notebook, path: Path):
    """Run a notebook in its own folder, in place, and remove what differs from run to run."""
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],  # no advice on encryption
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        sys.exit(
            f"{error}\n{repository.relative(path)} does not run, so the chapter's stored notebooks were not changed."
        )
    still_pictures.remove_widgets(notebook)
    still_pictures.add_still_pictures(notebook)
    still_pictures.shrink_drawings(notebook)
    notebook.metadata.language_info = {"name": "python"}  # without the version of whoever built it


def add_alt_texts(notebook):
    """Give every picture its cell's description, in place.

    The site uses it as alt text. JupyterLab 4 ignores this metadata. It would keep an `<img>` with `alt` in HTML, but a
    running cell does not know its description, and viewers prefer HTML to a picture: one that removes pictures given
    as data would show none. So the text below a picture also states its message.
    """
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}) and "shows" in cell.metadata:
                output.metadata["image/png"] = {"alt": cell.metadata.shows}


def outputs_digest(notebook):
    """A digest of a notebook's stored outputs, which shows any change by hand."""
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256(json.dumps(outputs, sort_keys=True).encode()).hexdigest()
