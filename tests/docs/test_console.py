"""Console blocks of the documents, run unchanged: ``...`` is any text, ``[exit N]`` the code.

How wide a column is does not count.
"""

import math
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from stretto.base.errors import ExitCode
from stretto.cli.main import cli
from stretto.cli.verbs import known
from stretto.explain.why.remedies.remedy import CureKind
from stretto.explain.words.reasons import TIERS

PAGES = (
    "guides/clusters",
    "guides/explain",
    "reference/cli",
    "guides/operator/doctor",
    "guides/capacity",
    "guides/scaling",
    "guides/tides",
    "guides/vertical",
    "guides/plan",
    "guides/story",
    "guides/plugins",
    "concepts/topology",
    "concepts/overcommit",
    "mesos",
    "traces",
)
DOCUMENTS = tuple(f"docs/{name}.md" for name in PAGES)
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"^\[exit (\d+)\]$")


class Typed(NamedTuple):
    """One command of a block, with what it must print."""

    command: str
    expected: list[str]
    code: int


def commands_of(text: str) -> list[Typed]:
    found: list[Typed] = []
    for block in _BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            codes = [int(match[1]) for line in lines if (match := _EXIT.match(line))]
            kept = [line for line in lines if not _EXIT.match(line)]
            found.append(Typed(command, kept, codes[0] if codes else 0))
    return found


def plain(lines: list[str]) -> str:
    """Lines without what only the width of a column decides."""
    narrow = [re.sub("─+", "─", re.sub(" +", " ", line)).rstrip() for line in lines]
    return "\n".join(narrow).strip("\n")


def pattern_of(lines: list[str]) -> re.Pattern[str]:
    text = plain(lines)
    more = text.endswith("\n...")
    parts = [re.escape(part) for part in text.removesuffix("\n...").split("...")]
    return re.compile(".*".join(parts) + (r"(\n.*)?" if more else ""), re.DOTALL)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_console_block_has_the_shown_output(
    name: str, repo_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(repo_root / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("stretto.framework.kernels.tiers.has_numba", lambda: False)
    monkeypatch.setattr("stretto.cli.progress.QUIET_SECONDS", math.inf)  # on a slow machine too
    monkeypatch.setattr("stretto.framework.profile.health.CALL_BUDGET", math.inf)
    typed = commands_of((repo_root / name).read_text(encoding="utf-8"))
    assert typed
    for each in typed:
        result = CliRunner().invoke(cli, shlex.split(each.command)[1:])
        said = plain(result.output.splitlines())
        assert result.exit_code == each.code, f"{each.command}\n{said}"
        assert pattern_of(each.expected).fullmatch(said), f"{each.command}\n{said}"


def test_every_verb_is_documented(repo_root: Path) -> None:
    text = (repo_root / "docs/reference/cli.md").read_text(encoding="utf-8")
    assert [
        verb for verb in known() if not re.search(rf"^\|.*`{verb}`.*\|", text, re.MULTILINE)
    ] == []


def test_every_exit_code_is_documented(repo_root: Path) -> None:
    text = (repo_root / "docs/reference/cli.md").read_text(encoding="utf-8")
    listed = {int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert listed == {*map(int, ExitCode), 141}


def test_codes_and_tiers_are_documented_in_the_order_of_dominance(repo_root: Path) -> None:
    text = (repo_root / "docs/guides/explain.md").read_text(encoding="utf-8")
    section = text.partition("## Tiers and codes")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([\w-]+)` \| ([\w -]+) \|", section, re.MULTILINE)
    assert rows == [(code.value, tier.value) for code, tier in TIERS.items()]


def test_kinds_of_cures_are_documented(repo_root: Path) -> None:
    text = (repo_root / "docs/guides/explain.md").read_text(encoding="utf-8")
    section = text.partition("## Cures")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE)
    assert rows == ["kind", *(kind.value for kind in CureKind)]
