"""Write the site's pages and let Sphinx build them into one folder, which replaces the old one as a whole."""

import sys
import tempfile
from pathlib import Path

import nbformat
from sphinx.cmd.build import build_main

from course_tools import links, repository
from course_tools.site import api_page, chapter_page, glossary, ledger_page, reading_copy, start_page, teaching_page

SPHINX_SETTINGS = Path(__file__).parent / "source"  # and all that a site has besides chapters
SITE_MARK = ".buildinfo"  # Sphinx writes it into every site


def build(target):
    """Build the site into the folder `target`. Ends the program with a sentence where that is not possible."""
    if target.exists() and not (target.is_dir() and (not any(target.iterdir()) or (target / SITE_MARK).is_file())):
        sys.exit(f"{target} exists and is not a site: name an empty or new folder.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".site-", ignore_cleanup_errors=True) as work:
        sources, made = Path(work, "sources"), Path(work, "made")
        write_sources(sources)
        options = ["-q", "-W", "--keep-going", "-c", str(SPHINX_SETTINGS), "-d", str(Path(work, "doctrees"))]
        if build_main([*options, str(sources), str(made)]):
            sys.exit("The site was not built, and the old one was not changed: the lines above give the reason.")
        reading_copy.write_all(made, [path.stem for path in repository.learners()])
        if target.exists():
            target.rename(Path(work, "before"))  # Windows refuses while a file in it is open; nothing is lost
        made.rename(target)


def write_sources(folder):
    """Write what Sphinx reads: a page for each chapter, the other pages, and the downloads."""
    address = repository.address()
    topics = [path.stem for path in repository.learners()]
    (folder / "downloads").mkdir(parents=True)
    pages = {topic: chapter_page.page(topic, address) for topic in topics}
    first = glossary.link_first_occurrences({int(topic[:2]): page for topic, page in pages.items()})
    others = glossary.other_names(first)
    for topic, page in pages.items():
        if names := others.get(int(topic[:2])):
            page.metadata.myst = {"html_meta": {"keywords": names}}
        nbformat.write(page, folder / f"{topic}.ipynb")
        (folder / "downloads" / f"{topic}.ipynb").write_bytes(
            repository.learners_copy(chapter_page.notebook_path(topic))
        )
    texts = {
        "ways": links.link_page(address),
        "index": start_page.page(topics),
        "ledger": ledger_page.page(),
        "teaching": teaching_page.page(topics),
        "api": api_page.page(shown_code(pages)),
        "glossary": glossary.glossary_page(first),
    }
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def shown_code(pages):
    """{(number of a chapter, id): code} of every code cell on the pages of chapters, {topic: notebook}."""
    return {
        (int(topic[:2]), cell.id): cell.source
        for topic, page in pages.items()
        for cell in page.cells
        if cell.cell_type == "code"
    }
