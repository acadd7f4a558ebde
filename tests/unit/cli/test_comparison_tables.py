"""A comparison of replays shows what changed, in a column and in a sentence."""

import pytest

from stretto.cli.console import Console
from stretto.cli.views.replays import show_sides, verdict

BEFORE = {
    "pods": 10,
    "pending": 2,
    "left_waiting": 0,
    "mean_wait_s": 2.4,
    "cpu in use, mean %": 50.0,
}
AFTER = {
    "pods": 10,
    "pending": 7,
    "left_waiting": 1,
    "mean_wait_s": 92.0,
    "cpu in use, mean %": 75.5,
}


def test_the_last_column_is_the_change(capsys: pytest.CaptureFixture[str]) -> None:
    show_sides(Console(), [("replayed", BEFORE), ("what if", AFTER)])
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    rows = {line[:23].strip(): line.split()[-1] for line in lines}
    assert rows["pods"] == "="
    assert rows["pending"] == "+5"
    assert rows["ended without a node"] == "+1"
    assert rows["mean wait"] == "+1m29s"
    assert rows["cpu in use, mean %"] == "+25.50"


def test_one_side_has_no_change(capsys: pytest.CaptureFixture[str]) -> None:
    show_sides(Console(), [("replayed", BEFORE)])
    assert "change" not in capsys.readouterr().out


def test_the_sentence_names_pods_and_waits() -> None:
    assert verdict(("replayed", BEFORE), ("what if", AFTER)) == (
        "what if: 5 pods more pending, 1 pod more left without a node, mean wait 2.4s → 1m32s."
    )
    assert verdict(("a", AFTER), ("b", BEFORE)).startswith("b: 5 pods fewer pending")
    assert verdict(("a", BEFORE), ("b", BEFORE)) == "b: no difference in pending pods and waits."


def test_a_figure_that_one_side_lacks_has_no_change(capsys: pytest.CaptureFixture[str]) -> None:
    show_sides(Console(), [("recorded", {"pods": 1}), ("replayed", {"pods": 1, "evicted": 2})])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["evicted", "-", "2", "-"] in rows
