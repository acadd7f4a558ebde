"""Sphinx extension: pages that show root files or generated parts.

A line ``<!--- include: FILE -->`` includes a file of the repository root, and a line
``<!--- generated: KIND ARGUMENTS -->`` includes generated Markdown.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import site_commands
import site_modules
import site_profiles
import site_structs
from site_links import with_includes, with_links
from sphinx.application import Sphinx

#: Makers of generated parts, by the word in the comment.
MAKERS: Mapping[str, Callable[..., list[str]]] = {
    "module": site_modules.module,
    "structs": site_structs.tables,
    "schemas": site_structs.schemas,
    "commands": site_commands.commands,
    "exit-codes": site_commands.exit_codes,
    "errors": site_commands.error_kinds,
    "plugins": site_profiles.plugins,
    "profiles": site_profiles.profiles,
}
_MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_GENERATED = re.compile(r"^<!--- generated: (\S+)((?: \S+)*) -->$", re.MULTILINE)


def read_source(app: Sphinx, name: str, content: list[str]) -> None:
    """Rewrite links, then put in included and generated parts."""
    page = Path(app.env.doc2path(name))
    text = with_includes(with_links(content[0], page.parent, page.parent), page)
    text = _MERMAID.sub(_folded, text)
    content[0] = _GENERATED.sub(lambda match: "\n".join(MAKERS[match[1]](*match[2].split())), text)


def _folded(match: re.Match[str]) -> str:
    """A diagram's source: the site draws none, since that needs a script from elsewhere."""
    summary = "<details><summary>The diagram's source (Mermaid)</summary>"
    return f"{summary}\n\n```text\n{match[1]}```\n\n</details>"


def write_schemas(app: Sphinx, failure: Exception | None) -> None:
    """Write each JSON Schema as a file of the site."""
    if failure is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "schemas"
    folder.mkdir(exist_ok=True)
    for form in site_structs.FORMS:
        (folder / site_structs.file_of(form)).write_text(site_structs.schema(form) + "\n", "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the hooks."""
    app.connect("source-read", read_source)
    app.connect("build-finished", write_schemas)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
