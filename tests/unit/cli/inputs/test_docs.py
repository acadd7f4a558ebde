"""``stretto docs``: the pages that help texts and messages name are in the package."""

import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.base.errors import UnknownNameError
from stretto.cli.bundled.pages import page_names, page_text, title_of
from stretto.cli.main import cli

#: A page in a help text, a message or a docstring.
NAMED = re.compile(r"docs/([a-z/0-9-]+)\.md")


def test_every_page_that_the_source_names_is_a_page(repo_root: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (repo_root / "src").rglob("*.py")]
    named = {page for text in texts for page in NAMED.findall(text)}
    assert named - set(page_names()) == set()


def test_the_wheel_contains_every_page(repo_root: Path) -> None:
    project = tomllib.loads((repo_root / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    missing = [
        name
        for name in page_names()
        if {f"docs/{name}.md", f"docs/{name.partition('/')[0]}"}.isdisjoint(included)
    ]
    assert missing == []


@pytest.mark.parametrize("spelled", ["appendix/omega", "docs/appendix/omega.md", "omega"])
def test_a_page_is_printed_by_its_name_or_its_path(repo_root: Path, spelled: str) -> None:
    result = CliRunner().invoke(cli, ["docs", spelled])
    assert result.stdout == (repo_root / "docs/appendix/omega.md").read_text(encoding="utf-8")


def test_a_list_has_the_title_of_each_page() -> None:
    result = CliRunner().invoke(cli, ["docs", "-q"])
    assert "concepts/queues" in result.stdout
    assert [name for name in page_names() if not title_of(name)] == []


def test_an_unknown_page_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean traces"):
        page_text("trases")


def test_a_name_of_several_pages_lists_them() -> None:
    with pytest.raises(UnknownNameError) as refused:
        page_text("federation")
    assert set(refused.value.known) >= {"guides/federation", "parity/federation"}
