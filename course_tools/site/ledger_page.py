"""The ledger as a page: each value that a source prints, and the cell that prints it here."""

from course_tools import repository
from course_tools.site.chapter_page import cell_anchor

LONGEST = 60  # letters of a value; the cell shows all


def page():
    """The page in MyST's Markdown."""
    ledger = repository.table("tests/ledger.toml")
    parts = [source_table(name, source, ledger["value"]) for name, source in ledger["sources"].items()]
    parts += [paper_table(name, each, ledger["published"]) for name, each in ledger["papers"].items()]
    return "\n".join([INTRODUCTION, *parts])


INTRODUCTION = """\
# The ledger

Five texts stand behind this course. Here is every number that they print, in their order, with the cell that prints it
here, digit for digit, or the reason why none can. Figures from papers and configurations that chapters compute anew
follow at the end. A test compares the two whenever anything changes.
"""


def source_table(name, source, values):
    """A source with a table of its values."""
    rows = [value_row(value["line"], value) for value in values if value["source"] == name]
    head = f"## {name}: {source['author']}\n\n{source['title']}\n\n| line | it prints | here |\n| --- | --- | --- |"
    return "\n".join([head, *rows, ""])


def paper_table(name, source, published):
    """A paper or a configuration with a table of its figures."""
    rows = [value_row(value["place"], value) for value in published if value["paper"] == name]
    read = f"Read: {source['read']}." if source["read"] else "Not read."
    head = f"## {source['author']}\n\n{source['title']}. {read}\n\n| place | it says | here |\n| --- | --- | --- |"
    return "\n".join([head, *rows, ""])


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
