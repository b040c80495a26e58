"""Folders and zips as classes hand them in, made for tests."""

import io
import json
import stat
import zipfile

from tests.support import stored

NAME = "03_hiding_the_future.ipynb"
RIGHT = """def my_causal_weights(scores):
    T = scores.shape[-1]
    return scores.masked_fill(torch.ones(T, T).triu(1).bool(), -torch.inf).softmax(-1)
"""
WRONG = """def my_causal_weights(scores):
    return scores.softmax(-1)
"""


def notebook(answers, marks=True, chapter=3):
    """A chapter's notebook for learners as JSON data, with answers {"3.2": code} in the cells of their exercises.

    marks: keep what says which cell is which exercise's, and which chapter this is.
    """
    made = json.loads(stored.of_chapter(chapter, stored.LEARNERS).read_text(encoding="utf-8"))
    for cell in made["cells"]:
        for id, code in answers.items():
            if cell["id"] == f"exercise-{id.replace('.', '-')}":
                cell["source"] = code
        if cell["cell_type"] == "code":
            cell["outputs"] = []
        if not marks:
            del cell["id"]
            cell["metadata"] = {}
    if not marks:
        made["metadata"] = {}
    return made


def packed(made):
    """A notebook as bytes."""
    return json.dumps(made).encode()


def zipped(files):
    """A zip with files {name: bytes, or None for a link}, as bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            if content is None:
                entry.external_attr = (stat.S_IFLNK | 0o777) << 16
                content = b"/etc/passwd"
            archive.writestr(entry, content)
    return made.getvalue()


def lay(folder, files):
    """Write files {name: bytes} into a folder, and give it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
