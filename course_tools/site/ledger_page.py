"""The ledger as a page: each value that a source prints, and the cell that prints it here."""

from course_tools import repository
from course_tools.site.chapter_page import cell_anchor

LONGEST = 60  # letters shown of a value; the cell shows all


def page():
    """The page in MyST's Markdown."""
    ledger = repository.table("tests/ledger.toml")
    parts = [INTRODUCTION]
    for name, source in ledger["sources"].items():
        rows = [value_row(value["line"], value) for value in ledger["value"] if value["source"] == name]
        parts.append(table(f"{name}: {source['author']}", source["title"], "line | it prints", rows))
    for name, paper in ledger["papers"].items():
        rows = [value_row(value["place"], value) for value in ledger["published"] if value["paper"] == name]
        read = f"Read: {paper['read']}." if paper["read"] else "Not read."
        parts.append(table(paper["author"], f"{paper['title']}. {read}", "place | it says", rows))
    return "\n".join(parts)


INTRODUCTION = """\
# The ledger

This course is based on five texts. This page lists every number that they print, in order, with the cell that prints
the same digits here, or the reason why no cell can. Numbers from papers and configurations that chapters recompute are
at the end. A test repeats these comparisons after every change.
"""


def table(heading, title, columns, rows):
    """A source, a paper or a configuration with a table of its values."""
    return "\n".join([f"## {heading}\n\n{title}\n\n| {columns} | here |\n| --- | --- | --- |", *rows, ""])


def value_row(place, value):
    """A value's row."""
    text = " ".join(value["text"].split()).replace("|", "\\|")
    short = text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
    return f"| {place} | `{short}` | {cell_or_reason(value)} |"


def cell_or_reason(value):
    """Which cell prints a value, or why none does."""
    chapter = value.get("chapter")
    name = "the notes" if chapter == repository.NOTES else f"chapter {chapter}"
    cell = f"[{name}](#{cell_anchor(chapter, value['cell'])})" if "cell" in value else ""
    if "cannot" not in value:
        return cell or name
    return f"not shown: {value['cannot']}; instead, {value['instead']}{f', {cell}' if cell else ''}"
