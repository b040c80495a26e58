"""A Sphinx extension: an index of sections' words for the search page, as Sphinx's own index knows only pages."""

import json
import re
from pathlib import Path

from docutils import nodes

from course_tools import repository

SECTIONS = "_static/sections.js"
WORD = re.compile(r"[^\W\d_][\w-]+")


def collect(app, doctree, docname):
    """Keep the title, the place and the words of each section of a page."""
    texts = {}
    for text in doctree.findall(nodes.Text):
        place = text.parent
        while not isinstance(place, (nodes.section, nodes.document, nodes.raw)):
            place = place.parent
        texts.setdefault(place, []).append(text.astext())
    app.sections += [
        [f"{docname}.html#{section['ids'][0]}", section.next_node(nodes.title).astext(), words(" ".join(found))]
        for section, found in texts.items()
        if isinstance(section, nodes.section)
    ]


def words(text):
    """The words of a text, each once, with their other names."""
    also = repository.table("course_tools/site/source/glossary.toml")["also"]
    others = [more for name, more in also.items() if name.lower() in text.lower()]
    return " ".join(dict.fromkeys(WORD.findall(" ".join([text, *others]).lower())))


def load(app, pagename, templatename, context, doctree):
    """Make the search page load the index."""
    if pagename == "search":
        app.add_js_file("sections.js")
        app.add_js_file("search_sections.js")


def write(app, exception):
    """Write the collected sections, page by page."""
    text = json.dumps(sorted(app.sections, key=lambda each: each[0].partition("#")[0]), ensure_ascii=False)
    Path(app.outdir, SECTIONS).write_text(f"const SECTIONS = {text};\n", encoding="utf-8")


def setup(app):
    """Register the extension."""
    app.sections = []
    app.connect("doctree-resolved", collect)
    app.connect("html-page-context", load)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
