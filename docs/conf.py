"""Sphinx configuration."""

import importlib
import json
import os
import re
import sys
from pathlib import Path

import secretballot

sys.path.insert(0, str(Path(__file__).parent))  # what draws the front page's pictures
sys.path.insert(0, str(Path(__file__).parents[1]))  # examples and benchmarks

project = "secretballot"
author = "The secretballot developers"
copyright = author
version = release = secretballot.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxext.opengraph",
    "_front_picture",
    "_idea_picture",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]
autosummary_generate = True
# A class page lists what its docstring lists; no stub page per method.
numpydoc_show_class_members = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

# Whoever puts the site somewhere says where: no address is known here.
html_baseurl = ogp_site_url = os.environ.get("DOCS_URL", "")
ogp_site_name = project
ogp_social_cards = {"enable": False}

VERSIONS = json.loads((Path(__file__).parent / "_static/versions.json").read_text())

html_context = {"default_mode": "auto"}
html_title = f"{project} {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["versions.js", "titles.js"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "logo": {"text": project},
    "navbar_align": "left",
    # Where there is one version, there is nothing to switch.
    "navbar_end": [*["version-switcher"] * (len(VERSIONS) > 1), "theme-switcher"],
    "header_links_before_dropdown": 7,
    # A file of the site itself: versions stand beside each other in one folder.
    "switcher": {"json_url": "_static/versions.json", "version_match": release},
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_center": [],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages without others of their section beside them have no use for a list of those.
html_sidebars = {"index": [], "benchmarks": []}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"^(?!plot_)",
    "backreferences_dir": "api/generated/backreferences",
    "doc_module": ("secretballot",),
    "remove_config_comments": True,
    "show_memory": False,
    "thumbnail_size": (480, 300),
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "copyfile_regex": r".*\.rst",
    "within_subsection_order": "_gallery_order.in_order",
    "abort_on_example_error": False,
}


def link_to_pages(app, path, docname, content):
    """Let a file of the repository's root, whose links name files there, link to pages here."""
    if docname == "contributing":
        content[0] = re.sub(r"\]\((?:docs/)(?=[\w/-]+\.)", "](../", content[0])


def home_of(app, module, name):
    """Return the module that has the code: the public path, which users see, only exports it."""
    first = name.partition(".")[0]
    value = getattr(importlib.import_module(module), first, None)
    for home, loaded in list(sys.modules.items()):
        if home.startswith("secretballot.") and getattr(loaded, first, None) is value:
            source = Path(loaded.__file__).read_text(encoding="utf-8")
            if re.search(rf"^(class|def) {first}\b", source, flags=re.M):
                return home
    return None


def without_address(app, page, template, context, doctree):
    """Leave out the address that og:url would need, where nobody said what it is."""
    if not ogp_site_url:
        tags = context.get("metatags") or ""
        context["metatags"] = re.sub(r"<meta property=\"og:url\"[^>]*>\n?", "", tags)


def setup(app):
    app.connect("html-page-context", without_address, priority=900)
    app.connect("include-read", link_to_pages)
    app.connect("viewcode-follow-imported", home_of)
