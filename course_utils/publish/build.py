"""python3 -m course_utils build: make every notebook from its source, run it, store it.

Give chapter numbers to build only those: `build 1 3`. Nothing outside notebooks/, solutions/ and the generated links
is written; a chapter that fails to run leaves its stored notebook as it was.
"""

import base64
import hashlib
import json
import os
import sys
from pathlib import Path

from course_utils import files, stills
from course_utils.launch import environment
from course_utils.publish import links

README_PICTURE = ".github/attention_map.png"
SHOWN_IN_README = ("01_dot_product_attention", "weights-picture")
CELL_TIMEOUT = 300  # seconds; no cell of the course comes near it


def main(arguments):
    """Build all chapters, or those whose numbers are given."""
    wanted = {f"{argument:0>2}" for argument in arguments}
    chosen = [source for source in links.sources() if not wanted or source.name[:2] in wanted]
    unknown = wanted - {source.name[:2] for source in chosen}
    if unknown:
        sys.exit(f"There is no chapter {', '.join(sorted(unknown))} in solutions/. usage: build [NUMBER ...]")
    # with the tests' packages, so that no chapter installs any while its outputs are being stored
    environment.become(environment.python_with("requirements.txt", "tests/requirements.txt"), "build", arguments)
    from course_utils.publish import chapter  # needs the environment

    os.environ["COURSE_PROGRESS"] = ""  # what a notebook shows depends on no earlier run
    for source in chosen:
        made = chapter.notebooks(source, links.repository())
        for path, notebook in made.items():
            print(f"running {links.relative(path)} ...", flush=True)
            execute(notebook, path)
        for path, notebook in made.items():  # both run: only now are they stored
            files.replace(path, nbformat_text(notebook).encode())
    links.write_pages()
    files.replace(links.ROOT / README_PICTURE, picture(*SHOWN_IN_README))


def nbformat_text(notebook):
    """A notebook as nbformat writes it."""
    import nbformat

    return nbformat.writes(notebook) + "\n"


def picture(topic, cell_id):
    """The PNG that a cell of a stored solved notebook shows."""
    notebook = json.loads((links.ROOT / "solutions" / f"{topic}.ipynb").read_text(encoding="utf-8"))
    (cell,) = [cell for cell in notebook["cells"] if cell["id"] == cell_id]
    (shown,) = [output["data"]["image/png"] for output in cell["outputs"]]
    return base64.b64decode(shown)


def execute(notebook, path: Path):
    """Run a notebook in its own folder, in place, and leave out what differs from run to run."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        sys.exit(f"{error}\n{links.relative(path)} does not run. Its chapter stays stored as it was.")
    stills.keep(notebook)
    notebook.metadata.language_info = {"name": "python"}  # without the version of whoever built it
    notebook.metadata.source["outputs"] = outputs_digest(notebook)


def outputs_digest(notebook):
    """What identifies a notebook's stored outputs: a digit changed by hand does not go unnoticed."""
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256(json.dumps(outputs, sort_keys=True).encode()).hexdigest()

