"""The first page: source/index.md with a live figure of the first chapter and the list of chapters in it."""

from course_tools import links, repository
from course_tools.repository import ROOT
from course_tools.site import chapter_page

FIGURE, CHAPTERS, CONTENTS = "<!-- figure -->", "<!-- chapters -->", "<!-- contents -->"


def page(topics):
    """The page in MyST's Markdown. topics: the chapters, ["01_some_topic", ...]."""
    text = (ROOT / "course_tools/site/source/index.md").read_text(encoding="utf-8")
    text = text.replace(FIGURE, f"````{{raw}} html\n{live_figure(topics[0])}\n````")
    text = text.replace(CHAPTERS, "\n".join(map(chapter_row, topics)))
    return text.replace(CONTENTS, "\n".join(topics))


def live_figure(topic):
    """The HTML of the first live figure in a chapter's stored outputs."""
    cells = repository.cells(chapter_page.notebook_path(topic))
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    pages = ("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
    return next(page for page in pages if 'class="course-figure"' in page)


def chapter_row(topic):
    """A chapter's row in the table."""
    title, summary, minutes = links.chapter_heading(chapter_page.notebook_path(topic))
    return f"| [{title}]({topic}.ipynb) | {summary} | {minutes} |"
