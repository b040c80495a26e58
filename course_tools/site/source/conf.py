"""Sphinx's settings for the site. Its pages are written by course_tools/site; `python3 -m course_tools site` builds."""

project = "Attention, number by number"
html_title = project
extensions = ["myst_nb", "sphinx_design", "sphinx.ext.githubpages", "course_tools.site.mathml"]
exclude_patterns = ["downloads"]
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["search_from_disk.js", "answered.js"]
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
