"""Sphinx configuration."""

import re

import secretballot

project = "secretballot"
author = "The secretballot developers"
copyright = author
version = release = secretballot.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
autosummary_generate = True
# A class page lists what its docstring lists; no stub page per method.
numpydoc_show_class_members = False
autodoc_typehints = "none"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_theme = "alabaster"
html_theme_options = {
    "description": "Learning by voting. The vote is counted; the ballots stay secret.",
    "page_width": "60em",
}

# Files of the repository's root that are shown as pages.
PAGES = {"README": "index", "CONTRIBUTING": "contributing", "CHANGELOG": "changelog"}


def link_to_pages(app, path, docname, content):
    """Let a file of the repository's root, whose links name files there, link to pages here."""

    def page(link):
        return f"]({PAGES.get(link['name'], link['name'])}.md"

    content[0] = re.sub(r"\]\((?:docs/)?(?P<name>[\w-]+)\.md", page, content[0])


def setup(app):
    app.connect("include-read", link_to_pages)
