"""The first page: source/index.md with a puzzle to play and the list of chapters."""

from course_tools import first_figure, links
from course_tools.repository import ROOT
from course_tools.site import chapter_page

FIGURE, CHAPTERS, CONTENTS = "<!-- figure -->", "<!-- chapters -->", "<!-- contents -->"


def page(topics):
    """The page in MyST's Markdown. topics: the chapters, ["01_some_topic", ...]."""
    text = (ROOT / "course_tools/site/source/index.md").read_text(encoding="utf-8")
    text = text.replace(FIGURE, f"````{{raw}} html\n{first_figure.html()}\n````")
    text = text.replace(CHAPTERS, "\n".join(map(chapter_row, topics)))
    return text.replace(CONTENTS, "\n".join(topics))


def chapter_row(topic):
    """A chapter's row in the table."""
    title, summary, minutes = links.chapter_heading(chapter_page.notebook_path(topic))
    return f"| [{title}]({topic}.ipynb) | {summary} | {minutes} |"
