"""Plots are PNG files, the same for the same curves, and say early when they cannot be drawn."""

import sys

import pytest

from stretto.base.errors import MissingExtraError
from stretto.sim.comparison.plots import study_plots
from stretto.sim.comparison.seeds import PolicySummary
from stretto.sim.plots import PlotLine, PlotTexts, bars_png, check_plots, curves_png

WORDS = PlotTexts("title", "x", "y")
PNG = b"\x89PNG\r\n"


def test_curves_are_drawn_with_bands_marks_and_steps() -> None:
    lines = [
        PlotLine("a", [0, 1], [1, 2], band=[0.1, 0.2]),
        PlotLine("", [0, 1], [1, 2], 1, marks=True),
        PlotLine("b", [0, 1], [2, 1], 9, steps=True),
    ]
    assert curves_png(lines, WORDS).startswith(PNG)


def test_the_same_curves_give_the_same_bytes() -> None:
    line = PlotLine("a", [0, 1], [1, 2])
    assert curves_png([line], WORDS) == curves_png([line], WORDS)


def test_a_scale_may_begin_at_0() -> None:
    line = PlotLine("a", [0, 1], [20, 30])
    assert curves_png([line], PlotTexts("title", "x", "y", from_0=True)) != curves_png(
        [line], WORDS
    )


def test_bars_are_stacked() -> None:
    assert bars_png({"T4": (60, 40), "G2": (10, 90)}, ("used", "free"), WORDS).startswith(PNG)


def test_a_study_is_two_pictures_with_and_without_the_published_curves() -> None:
    ours = [PolicySummary("fgd", pct, pct / 2, 0.1, 5.0) for pct in (60, 90, 120)]
    published = {"fgd": {"alloc_pct": {60: 30.0, 90: 45.0}, "frag_pct_of_cluster": {90: 5.0}}}
    for curves in (None, published):
        found = study_plots(ours, curves)
        assert list(found) == ["allocation.png", "fragmentation.png"]
        assert all(picture.startswith(PNG) for picture in found.values())


def test_a_missing_library_is_reported_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    check_plots()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install .stretto\[reports\]"):
        check_plots()
