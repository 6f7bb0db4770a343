"""Sphinx configuration."""

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
