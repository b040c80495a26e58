"""The glossary: a page of words and symbols, and a link to it from where each first occurs."""

import re

from course_tools import repository
from course_tools.site import chapter_page

# no link may go inside these: headings, code, links, formulas, bold words
NO_LINKS_INSIDE = r"^#.*$|`[^`]*`|!?\[[^\]]*\]\([^)]*\)|\$\$.+?\$\$|\$[^$]+\$|\*\*[^*]+\*\*"
SUBSCRIPT = r"(?:\^\{\(\w\)\}|_\{?[0-9a-z]{1,2}\}?)?"  # x^{(2)} is an x, \alpha_{ij} an \alpha


def entries():
    """({symbol in LaTeX: meaning}, {word: meaning})."""
    glossary = repository.table("course_tools/site/source/glossary.toml")
    return glossary["symbols"], glossary["words"]


def other_names(first):
    """{number of a chapter: other names of its words, as single words}. first: as in glossary_page."""
    found = {}
    for name, others in repository.table("course_tools/site/source/glossary.toml")["also"].items():
        found.setdefault(int(first[name].split("-")[1]), []).extend(re.findall(r"[\w-]+", others))
    return {number: ", ".join(others) for number, others in found.items()}


def anchor(name):
    """The name by which pages link to a word or a symbol."""
    return "glossary-" + re.sub(r"[\W_]+", "-", name).strip("-").lower()


def glossary_page(first):
    """The page in MyST's Markdown. first: {word or symbol: the place where it first occurs}."""
    symbols, words = entries()
    parts = ["# Symbols and words\n\nThe chapters explain each term in full where it first occurs.\n\n## Symbols\n"]
    parts += [glossary_entry(name, f"${name}$", meaning, first.get(name)) for name, meaning in symbols.items()]
    parts += ["## Words\n"]
    parts += [glossary_entry(name, name, words[name], first.get(name)) for name in sorted(words, key=str.lower)]
    return "\n".join(parts)


def glossary_entry(name, shown, meaning, place):
    """A word or symbol with its meaning and a link to its first occurrence."""
    there = f" ([chapter {place.split('-')[1]}](#{place}))" if place else ""
    return f"({anchor(name)})=\n{shown}\n: {meaning}{there}\n"


# --- where each first occurs ------------------------------------------------------------------------------------------


def link_first_occurrences(pages):
    """Link the first occurrence of every word and symbol, in place; {word or symbol: the name of its place}.

    pages: {number of a chapter: its page}. A word in bold takes precedence.
    """
    symbols, words = entries()
    wanted = {name: [rf"\${re.escape(name)}{SUBSCRIPT}\$"] for name in symbols}
    wanted |= {
        name: [rf"(?i:\*\*{singular_or_plural(name)}\*\*)", rf"(?i:\b{singular_or_plural(name)}\b)"] for name in words
    }
    cells = [(number, cell) for number, page in pages.items() for cell in page.cells if may_hold_links(cell)]
    places = {name: link_first_occurrence(name, patterns, cells) for name, patterns in wanted.items()}
    return {name: place for name, place in places.items() if place}


def singular_or_plural(word):
    """A pattern for a word in singular and plural."""
    return f"{re.escape(word[:-1])}(?:y|ies)" if word.endswith("y") else f"{re.escape(word)}s?"


def may_hold_links(cell):
    """Whether this is text that every reader sees."""
    return cell.cell_type == "markdown" and "{dropdown}" not in cell.source and not cell.source.startswith("(")


def link_first_occurrence(name, patterns, cells):
    """Link the first match of the first pattern that has one; the name of its place, or None."""
    for pattern in patterns:
        for number, cell in cells:
            for found in re.finditer(f"(?P<it>{pattern})|{NO_LINKS_INSIDE}", cell.source, re.MULTILINE):
                if found["it"]:
                    start, end = found.span()
                    cell.source = f"{cell.source[:start]}[{found[0]}](#{anchor(name)}){cell.source[end:]}"
                    return mark_place(number, cell)
    return None


def mark_place(number, cell):
    """Make a cell a place to link to, once, and return its name."""
    place = chapter_page.cell_anchor(number, cell.id)
    if "place" not in cell.metadata:
        cell.metadata.place = place
        cell.source = f"({place})=\n{cell.source}"
    return place
