"""The documents are complete: every link leads somewhere, every rule is there by its name."""

import re
from pathlib import Path

from stretto.framework.plugins.table import RULES

_LINK = re.compile(r"\]\(([^)#\s]+)")


def test_every_link_of_a_document_leads_somewhere(repo_root: Path) -> None:
    documents = [*repo_root.glob("*.md"), *(repo_root / "docs").rglob("*.md")]
    dead = [
        f"{document.relative_to(repo_root)}: {link}"
        for document in documents
        for link in _LINK.findall(document.read_text(encoding="utf-8"))
        if "://" not in link and not (document.parent / link).exists()
    ]
    assert dead == []


def test_every_rule_is_documented_by_the_name_that_profiles_use(repo_root: Path) -> None:
    text = (repo_root / "docs/guides/plugins.md").read_text(encoding="utf-8")
    assert [name for name in RULES if f"`{name}`" not in text] == []
