"""The site of the documents: `make docs` builds it into build/site, to be read from there without a network.

The project's folder is the source, so that README.md and docs/ link to each other there as they do in a checkout.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

_PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]

project = "pbem"
release = version = _PROJECT["version"]
html_title = f"pbem {release}"
root_doc = "docs/index"
folders = ("bench", "simulation", "templates", "verifier")
include_patterns = ["*.md", "docs/**.md", *(f"{folder}/README.md" for folder in folders)]
exclude_patterns = [".*", "build", "config", "demo-output", "dist", "pbem", "tests"]  # folders that need no look

extensions = ["myst_parser"]
myst_heading_anchors = 4
nitpicky = True
smartquotes = False  # a quoted word may be one to type
highlight_language = "text"  # blocks without a language are letters, papers and terminals

html_theme = "furo"
html_static_path = ["style"]
html_css_files = ["wide.css"]
html_extra_path = ["site"]  # index.html, which leads to docs/index.html
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
