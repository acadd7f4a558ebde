"""Plots are PNG files, the same for the same curves, and say early when they cannot be drawn."""

import re
import sys

import numpy as np
import pytest

from stretto.base.errors import MissingExtraError
from stretto.explain.records.curves import PlotLine, PlotMark, PlotTexts
from stretto.sim.comparison.plots import study_plots
from stretto.sim.comparison.seeds import PolicySummary
from stretto.sim.plots.figures import (
    COLOURS,
    HeatCells,
    check_plots,
    draw_areas,
    draw_bars,
    draw_curves,
    draw_heat,
    draw_panels,
    draw_plots,
    draw_rows,
)

WORDS = PlotTexts("title", "x", "y")
PICTURES = ["allocation.png", "allocation.svg", "fragmentation.png", "fragmentation.svg"]
PNG = b"\x89PNG\r\n"


def drawn_text(pictures: dict[str, bytes]) -> str:
    """The text of the SVG of a figure."""
    (svg,) = (content for name, content in pictures.items() if name.endswith(".svg"))
    return re.sub(r"<[^>]*>", " ", svg.decode())


def test_curves_are_drawn_with_bands_marks_and_steps() -> None:
    lines = [
        PlotLine("a", [0, 1], [1, 2], band=[0.1, 0.2]),
        PlotLine("", [0, 1], [1, 2], 1, marks=True),
        PlotLine("b", [0, 1], [2, 1], 9, steps=True),
    ]
    found = draw_curves("c", lines, WORDS)
    assert list(found) == ["c.png", "c.svg"]
    assert found["c.png"].startswith(PNG)


def test_the_same_curves_give_the_same_bytes() -> None:
    line = PlotLine("a", [0, 1], [1, 2])
    assert draw_curves("c", [line], WORDS) == draw_curves("c", [line], WORDS)


def test_a_scale_may_begin_at_0() -> None:
    line = PlotLine("a", [0, 1], [20, 30])
    texts = PlotTexts("title", "x", "y", from_0=True)
    assert draw_curves("c", [line], texts) != draw_curves("c", [line], WORDS)


def test_a_horizontal_axis_begins_at_the_first_point() -> None:
    line = PlotLine("", [0, 1000], [1, 2])
    assert "\u2212" not in drawn_text(draw_curves("c", [line], WORDS))  # no tick below 0


@pytest.mark.parametrize(("curves", "parent"), [(4, "axes"), (5, "figure")])
def test_the_legend_of_many_curves_is_beside_the_axes(curves: int, parent: str) -> None:
    lines = [PlotLine(str(n), [0, 1], [n, n], n) for n in range(curves)]
    svg = draw_curves("c", lines, WORDS)["c.svg"].decode()
    levels = {"  ": "figure", "   ": "axes"}  # an SVG indents by its levels
    assert [levels[each] for each in re.findall(r'\n( *)<g id="legend_1"', svg)] == [parent]


def test_rows_have_their_names_and_a_missing_value_has_no_dot() -> None:
    rows = {"basic": (10.0, 5.0, 12.0), "gang": (9.0, None, 11.0)}
    text = drawn_text(draw_rows("r", rows, ("ours", "theirs", "limit"), WORDS))
    assert all(name in text for name in ("basic", "gang", "ours", "theirs", "limit"))


def test_moments_and_the_source_of_the_data_are_written() -> None:
    texts = PlotTexts("t", "x", "y", moments=(PlotMark(3, "drain rack=a"),), note="Commit 1a2b3c.")
    text = drawn_text(draw_curves("c", [PlotLine("a", [0, 9], [1, 2])], texts))
    assert "drain rack=a" in text
    assert "Commit 1a2b3c." in text


def test_curves_and_areas_are_labelled_directly() -> None:
    lines = [PlotLine(name, [0, 1, 2], [1, 2, 3], i) for i, name in enumerate(("one", "two"))]
    texts = PlotTexts("t", "x", "y", at_end=True)
    for found in (draw_curves("c", lines, texts), draw_areas("a", lines, texts)):
        assert all(name in drawn_text(found) for name in ("one", "two"))


def test_panels_bars_and_heat_maps_name_their_parts() -> None:
    line = PlotLine("a", [0, 1], [1, 2])
    cells = HeatCells(np.array([[0.5, np.nan]]), ["gpu 0"], [("node-a", 0), ("node-b", 1)])
    drawn = [
        (draw_panels("p", {"fifo": [line], "sjf": [line]}, WORDS), ["fifo", "sjf"]),
        (draw_bars("b", {"too-big": 3.0}, WORDS), ["too-big", "3"]),
        (draw_heat("h", cells, WORDS), ["gpu 0", "node-a", "node-b"]),
    ]
    for found, words in drawn:
        assert all(word in drawn_text(found) for word in words)


def test_a_study_is_two_pictures_with_and_without_the_published_curves() -> None:
    ours = [PolicySummary("fgd", pct, pct / 2, 0.1, 5.0) for pct in (60, 90, 120)]
    published = {"fgd": {"alloc_pct": {60: 30.0, 90: 45.0}, "frag_pct_of_cluster": {90: 5.0}}}
    for curves in (None, published):
        found = draw_plots(study_plots(ours, curves))
        assert list(found) == PICTURES
        assert found["allocation.png"].startswith(PNG)


def test_a_missing_library_is_reported_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    check_plots()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install .stretto\[reports\]"):
        check_plots()


def test_a_curve_beyond_the_last_colour_has_another_style() -> None:
    lines = [PlotLine(f"{n}", [0, 1], [n, n], n) for n in range(len(COLOURS) + 1)]
    texts = PlotTexts("eight", "x", "y")
    few = draw_curves("few", lines[:-1], texts)["few.svg"].count(b"stroke-dasharray")
    assert draw_curves("all", lines, texts)["all.svg"].count(b"stroke-dasharray") > few
