"""A chapter as one HTML file to keep and to print, with text, outputs and figures; it loads nothing else.

Figures move as they do on the page. Hints and answers are folded; printing shows the unfolded ones.
"""

import base64
import html
import re

from course_tools import links
from course_tools.site import chapter_page

FOLDER = "reading"
ARTICLE = re.compile(r'<article class="bd-article">.*?</article>', re.DOTALL)
PICTURE = re.compile(r'(?<=src=")_images/[^"]*')
WAYS = re.compile(r'<p>(?:(?!</p>).)*href="reading/.*?</p>', re.DOTALL)  # to open the chapter elsewhere
ELSEWHERE = re.compile(
    r'<a [^>]*href="(?!#|https?:)[^"]*"[^>]*>(.*?)</a>', re.DOTALL
)  # a link to the site's other pages
PERMALINK = re.compile(r'<a class="headerlink".*?</a>', re.DOTALL)
LOOK = """
body { max-width: 46em; margin: 1em auto; padding: 0 1em; font: 1rem/1.5 system-ui, sans-serif; }
body { color: #111; background: #fff; color-scheme: light; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.85em; padding: 0.5em; border: 1px solid #ccc; }
img, svg { max-width: 100%; }
table { border-collapse: collapse; } td, th { padding: 0.1em 0.5em; border: 1px solid #ccc; }
.formula { overflow: auto hidden; margin: 1em 0; } .sd-summary-state-marker { display: none; }
details { border: 1px solid #ccc; padding: 0.3em 0.8em; margin: 0.3em 0; }
@media print {
  pre, img, .course-live, .formula { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  details:not([open]) { display: none; }
}
"""


def write_all(site, topics):
    """Write the copy of each chapter, ["01_some_topic", ...], into a folder of a built site."""
    (site / FOLDER).mkdir()
    colours = (site / "_static/pygments.css").read_text(encoding="utf-8")
    for topic in topics:
        page = (site / f"{topic}.html").read_text(encoding="utf-8")
        (site / FOLDER / f"{topic}.html").write_text(copy_of(page, topic, site, colours), encoding="utf-8")


def copy_of(page, topic, site, colours):
    """The text of one copy. colours: the style of code."""
    title, _, _ = links.chapter_heading(chapter_page.notebook_path(topic))
    article = ELSEWHERE.sub(r"\1", PERMALINK.sub("", WAYS.sub("", ARTICLE.search(page)[0])))
    article = PICTURE.sub(lambda found: as_data((site / found[0]).read_bytes()), article)
    return (
        f'<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8"><title>{html.escape(title)}'
        f'</title><meta name="viewport" content="width=device-width"><style>{colours}{LOOK}</style></head>'
        f"<body><main>{article}</main></body></html>\n"
    )


def as_data(png):
    """A PNG as a data URL."""
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
