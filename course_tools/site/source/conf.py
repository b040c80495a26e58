"""Sphinx's settings for the site. course_tools/site writes its pages; `python3 -m course_tools site` builds them."""

import re
import shutil
from pathlib import Path

project = "Attention, number by number"
html_title = project
extensions = [
    "myst_nb",
    "sphinx_design",
    "sphinx.ext.githubpages",
    "course_tools.site.mathml",
    "course_tools.site.sections",
]
exclude_patterns = ["downloads"]
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["search_from_disk.js", "answered.js", "address.js"]
templates_path = ["templates"]
html_sidebars = {"**": ["contents.html"]}
html_show_sourcelink = html_copy_source = html_use_index = html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "article_header_start": [],
    "footer_start": [],
    "footer_end": [],
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def setup(app):
    """Omit the theme's icon font: 250 kB for ten icons, which site.css draws."""
    app.connect("build-finished", without_icon_font)


def without_icon_font(app, exception):
    """Remove the font, and the code that loads it, from the built pages."""
    shutil.rmtree(Path(app.outdir, "_static/vendor/fontawesome"), ignore_errors=True)
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(re.sub(r"<script[^>]*fontawesome\.js[^>]*></script>", "", text), encoding="utf-8")
    for script in Path(app.outdir, "_static/scripts").glob("fontawesome*"):
        script.unlink()
    theme = Path(app.outdir, "_static/styles/pydata-sphinx-theme.css")
    if theme.exists():
        faces = re.sub(r"@font-face\{[^}]*fontawesome[^}]*\}", "", theme.read_text(encoding="utf-8"))
        theme.write_text(faces, encoding="utf-8")
