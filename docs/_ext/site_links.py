"""Links of the pages: files of the repository root become pages of the site.

The sources stay readable in the repository, where ``../../ARCHITECTURE.md`` is a file. On the site
the same text is a page under ``project/``, so links are rewritten while a page is read.
"""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

#: Pages that show a file of the repository root, by that file.
WRAPPED = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "README.md": "index.md",
    "docs/design": "design/index.md",
}

_INCLUDE = re.compile(r"^<!--- include: (\S+) -->$", re.MULTILINE)
_LINK = re.compile(r"(!?\[[^\]\n]*(?:\n[^\]\n]*)?\])\(([^)\s]+)\)")


def with_includes(text: str, page: Path) -> str:
    """The text of a page with the root files that it includes, their links rewritten.

    Args:
        text: Markdown of the page.
        page: path of the page in the repository.
    """

    def included(match: re.Match[str]) -> str:
        source = ROOT / match[1]
        return with_links(source.read_text(encoding="utf-8"), source.parent, page.parent)

    return _INCLUDE.sub(included, text)


def with_links(text: str, base: Path, folder: Path) -> str:
    """The text with links that lead out of ``docs/`` turned into links of the site.

    Args:
        text: Markdown.
        base: folder that the links are relative to.
        folder: folder of the page on which the text appears.
    """

    def rewritten(match: re.Match[str]) -> str:
        label, link = match[1], match[2]
        path, hash_sign, anchor = link.partition("#")
        if "://" in link or not path or link.startswith("mailto:"):
            return match[0]
        target = Path(os.path.normpath(base / path))
        if not target.is_relative_to(ROOT) or not target.exists():
            return match[0]
        name = target.relative_to(ROOT).as_posix()
        if name in WRAPPED:
            target = DOCS / WRAPPED[name]
        elif target.is_dir():
            return label[1:-1]
        return f"{label}({os.path.relpath(target, folder)}{hash_sign}{anchor})"

    return _LINK.sub(rewritten, text)
