"""Sphinx configuration of the documentation site; ``make docs`` builds it into ``out/site``."""

import sys
from pathlib import Path

from stretto import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Stretto"
author = "Stretto authors"
copyright = "Stretto authors, Apache-2.0"  # noqa: A001  (the name that Sphinx reads)
version = release = __version__

extensions = ["myst_parser", "sphinx_copybutton", "stretto_site"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_ext"]
root_doc = "index"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nitpicky = True
# Signatures name types of Python, NumPy and of internal modules, which have no page here.
nitpick_ignore_regex = [(r"py:.*", r".*")]
# Several classes have a field called ``type``, which is Python's word too.
suppress_warnings = ["ref.python"]
add_module_names = False
maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = f"Stretto {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
