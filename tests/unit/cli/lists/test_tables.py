"""Tables never cut a name at any width of the terminal."""

import re
from io import StringIO

import pytest

from stretto.cli.console import Console
from stretto.cli.output.formats import ListColumn, write_columns
from stretto.cli.output.tables import drawn


class FakeTerminal(StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


def lines(columns: list[str], rows: list[list[str]], width: int) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        patch.setenv("TERM", "xterm")
        found = drawn(columns, rows, [False] * len(columns), "", FakeTerminal())
    return [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in found]


NAME = "a-namespace/a-pod-with-a-rather-long-name-0"
SENTENCE = (
    "None of the 6 eligible nodes is large enough, even empty (cpu: requests 64, largest 32)."
)


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_a_sentence_wraps_and_the_name_beside_it_stays_whole(width: int) -> None:
    found = lines(["pod", "why"], [[NAME, SENTENCE]], width)
    assert any(NAME in line for line in found)
    assert max(map(len, found)) <= width or not any("─" in line for line in found)
    assert "…" not in "".join(found)
    words = " ".join(" ".join(found).split())
    assert all(word in words for word in SENTENCE.split())


def test_names_that_are_too_wide_make_blocks_of_lines() -> None:
    found = lines(["pod", "node", "queue"], [[NAME, NAME, "-"], [NAME, "n", "q"]], 60)
    assert found == [
        f"pod: {NAME}",
        f"  node   {NAME}",
        "",
        f"pod: {NAME}",
        "  node   n",
        "  queue  q",
    ]


def test_sentences_in_blocks_wrap_too() -> None:
    found = lines(["pod", "node", "why"], [[NAME, NAME, SENTENCE]], 60)
    assert found[:2] == [f"pod: {NAME}", f"  node  {NAME}"]
    assert max(map(len, found)) <= 60
    assert " ".join(" ".join(found[2:]).split()) == f"why {SENTENCE}"


@pytest.mark.parametrize("width", [40, 200])
def test_no_line_ends_in_blanks(width: int) -> None:
    found = lines(["pod", "why"], [["a", "short"], [NAME, SENTENCE]], width)
    assert [line for line in found if line != line.rstrip()] == []


def test_a_file_has_no_width() -> None:
    found = drawn(["a", "b"], [["x" * 500, "y" * 300]], [False, False], "", StringIO())
    assert any("x" * 500 in line and "y" * 300 in line for line in found)


def test_a_narrow_terminal_loses_the_least_important_columns_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Console, "width", 40)
    columns = [
        ListColumn("pod", ["p" * 20]),
        ListColumn("queue", ["q" * 10], 1),
        ListColumn("unit", ["u" * 10], 2),
        ListColumn("empty", ["-"], 1),
    ]
    write_columns(Console(), columns, "-o wide shows all columns")
    out, err = capsys.readouterr()
    assert "q" * 10 in out
    assert "u" * 10 not in out
    assert err == "unit: not shown; -o wide shows all columns\n"
