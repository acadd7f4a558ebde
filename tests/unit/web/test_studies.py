"""Run records side by side: figures, differences, downloads."""

import csv
import io
from math import nan
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.applications import Starlette

from stretto.cli.sources.run_studies import RunStudies
from stretto.explain.inventory.result_figures import figures_of, sides_of
from stretto.explain.records.curves import (
    MOST_POINTS,
    CurvePlot,
    PlotLine,
    PlotTexts,
    joined_plots,
    thinned,
)
from stretto.explain.records.record_file import RecordSources, RunFacts, write_record
from stretto.explain.records.records import RunRecords
from stretto.explain.records.results import KEPT, KeptResult, ResultRecords
from stretto.testing import Harness
from stretto.web.views.parts import DashboardParts
from stretto.web.views.plots import ROWS, plot_table
from tests.unit.web.dashboards import get, small_dashboard

TIMES = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
CURVE = {"after_s": [0.0, 1.0], "placed_after": [0, 4]}


def record(records: RunRecords, title: str, **summary: Any) -> str:
    """The name of a new record with a report."""
    path = records.new(title, "2026-01-01T00:00:00Z")
    facts = RunFacts(path.stem, title, "2026-01-01T00:00:00Z", 2.0, 0, 1, "default", ())
    plane = Harness().plane
    sources = RecordSources(plane.store, plane.cluster, plane.units)
    write_record(path, facts if not summary else _with(facts, summary), sources)
    return path.stem


def _with(facts: RunFacts, summary: dict[str, Any]) -> RunFacts:
    return RunFacts(
        **{name: getattr(facts, name) for name in facts.__struct_fields__ if name != "summary"},
        summary=summary,
    )


@pytest.fixture
def records(tmp_path: Path) -> RunRecords:
    return RunRecords(tmp_path)


@pytest.fixture
def pages(records: RunRecords) -> Starlette:
    results = ResultRecords(records.folder / "results")
    return small_dashboard(DashboardParts(studies=RunStudies(records, results)))


def test_runs_side_by_side_show_differences_from_the_first(
    records: RunRecords, pages: Starlette
) -> None:
    first = record(records, "one", placed=10, pending=2)
    second = record(records, "two", placed=12, pending=0)
    text = get(pages, f"/studies/compare?run={first}&run={second}").text
    assert '12 <span class="quiet">+2</span>' in text
    assert '0 <span class="quiet">-2</span>' in text


def test_a_figure_that_one_report_lacks_is_a_dash(records: RunRecords, pages: Starlette) -> None:
    first = record(records, "one", placed=10, conflict_pct=1.5)
    second = record(records, "two", placed=10)
    text = get(pages, f"/studies/compare?run={first}&run={second}").text
    assert '<td class="n">1.50</td><td class="n">-</td>' in text


def test_a_comparison_is_downloaded_as_csv(records: RunRecords, pages: Starlette) -> None:
    name = record(records, "one", placed=10, evicted={"preemption": 3})
    reply = get(pages, f"/studies/compare.csv?run={name}")
    rows = list(csv.reader(io.StringIO(reply.text)))
    assert rows == [["figure", name], ["pods placed", "10.0"], ["pods evicted", "3.0"]]


def test_a_comparison_is_downloaded_as_json(records: RunRecords, pages: Starlette) -> None:
    name = record(records, "one", placed=10, **CURVE)
    (plot,) = get(pages, f"/studies/compare.json?run={name}").json()["plots"]
    (line,) = plot["lines"]
    assert (line["label"], line["x"], line["y"]) == (name, [0.0, 1.0], [0, 4])


def test_the_page_has_the_values_of_the_curves(records: RunRecords, pages: Starlette) -> None:
    name = record(records, "one", placed=4, **CURVE)
    page = get(pages, f"/studies/compare?run={name}").text
    assert '<th scope="row" class="n">1</th><td class="n">4</td>' in page


def test_the_runs_of_a_comparison_share_a_plot(records: RunRecords, pages: Starlette) -> None:
    names = [record(records, title, placed=4, **CURVE) for title in ("one", "two")]
    found = get(pages, f"/studies/compare.json?run={names[0]}&run={names[1]}").json()
    (plot,) = found["plots"]
    assert [line["label"] for line in plot["lines"]] == names
    assert [line["colour"] for line in plot["lines"]] == [0, 1]


def test_the_values_of_a_plot_are_downloaded_as_csv(records: RunRecords, pages: Starlette) -> None:
    name = record(records, "one", placed=4, **CURVE)
    reply = get(pages, f"/studies/compare.csv?run={name}&plot=0")
    rows = list(csv.reader(io.StringIO(reply.text)))
    assert rows == [["seconds", name], ["0.0", "0"], ["1.0", "4"]]


@pytest.mark.parametrize("count", [1, 2, 5000])
def test_a_table_keeps_the_first_and_the_last_value(count: int) -> None:
    times = [float(number) for number in range(count)]
    rows = plot_table(plot_of(PlotLine("a", times, times)), ROWS).rows
    assert len(rows) <= ROWS
    assert rows[0] == (0.0, [0.0])
    assert rows[-1] == (count - 1.0, [count - 1.0])


def plot_of(*lines: PlotLine) -> CurvePlot:
    return CurvePlot("p", lines, PlotTexts("title", "x", "y"))


def test_a_curve_without_a_name_is_no_column() -> None:
    table = plot_table(plot_of(PlotLine("a", [0], [1]), PlotLine("", [5], [2], marks=True)))
    assert (table.names, table.rows) == (["a"], [(0, [1])])


def test_the_pods_over_time_are_a_picture(records: RunRecords, pages: Starlette) -> None:
    name = record(records, "one", placed=4, **CURVE)
    reply = get(pages, f"/studies/compare.png?run={name}")
    assert (reply.headers["content-type"], reply.content[:4]) == ("image/png", b"\x89PNG")


@pytest.mark.parametrize("number", ["1", "-1", "x"])
def test_a_plot_that_does_not_exist_is_not_found(
    records: RunRecords, pages: Starlette, number: str
) -> None:
    name = record(records, "one", placed=4, **CURVE)
    assert get(pages, f"/studies/compare.png?run={name}&plot={number}").status_code == 404


def test_runs_without_curves_have_no_picture(records: RunRecords, pages: Starlette) -> None:
    name = record(records, "one", placed=4)
    assert get(pages, f"/studies/compare.png?run={name}").status_code == 404


def test_the_plots_of_a_result_are_on_its_page(records: RunRecords, pages: Starlette) -> None:
    plot = plot_of(PlotLine("easy", [0.0], [3.0]), PlotLine("fifo", [0.0], [4.0], 1))
    name = kept(records, {"schema": "stretto.simulate.swf/v1"}, (plot,))
    page = get(pages, f"/studies/compare?run={name}").text
    assert '<h2 id="plot-0">title</h2>' in page
    assert '<td class="n">3</td><td class="n">4</td>' in page


def test_a_kept_curve_has_few_points(records: RunRecords) -> None:
    times = [number / 3 for number in range(5000)]
    name = kept(records, {"schema": "stretto.compare/v1"}, (plot_of(PlotLine("a", times, times)),))
    (plot,) = ResultRecords(records.folder / "results").read(name).plots
    assert len(plot.lines[0].x) == MOST_POINTS
    assert plot.lines[0].x[-1] == pytest.approx(times[-1])


def test_a_kept_curve_has_finite_points_only() -> None:
    line = PlotLine("a", [0, 1, 2], [1, nan, 3], band=[0.1, 0.2, nan])
    (kept,) = thinned(plot_of(line)).lines
    assert (kept.x, kept.y, kept.band) == ([0, 2], [1, 3], [0.1, 0.0])


AREAS = (("low", 7), ("high", 11))


@pytest.mark.parametrize("peak", [1.0, -1.0])
@pytest.mark.parametrize("place", [1, 777, 4998])
def test_a_kept_curve_has_its_narrow_peaks(place: int, peak: float) -> None:
    heights = [0.0] * 5000
    heights[place] = peak
    (line,) = thinned(plot_of(PlotLine("a", range(5000), heights))).lines
    assert dict(zip(line.x, line.y, strict=True))[place] == peak


def test_kept_areas_on_top_of_one_another_have_points_at_the_same_positions() -> None:
    lines = [
        PlotLine(name, range(5000), [n % period for n in range(5000)]) for name, period in AREAS
    ]
    plot = msgspec.structs.replace(plot_of(*lines), stacked=True)
    low, high = thinned(plot).lines
    assert low.x == high.x


def test_joined_plots_name_the_result_of_each_curve() -> None:
    plot = plot_of(PlotLine("a", [0], [1]), PlotLine("", [0], [1], marks=True))
    (joined,) = joined_plots([("r1", [plot]), ("r2", [plot])])
    assert [line.label for line in joined.lines] == ["r1: a", "", "r2: a", ""]
    assert [line.colour for line in joined.lines] == [0, 0, 1, 1]


def test_a_comparison_without_records_states_how_many_it_needs(pages: Starlette) -> None:
    reply = get(pages, "/studies/compare")
    assert (reply.status_code, "expected 1 to 8 records" in reply.text) == (409, True)


def test_a_record_that_does_not_exist_is_not_found(records: RunRecords, pages: Starlette) -> None:
    record(records, "one", placed=4)
    assert get(pages, "/studies/compare?run=nothing").status_code == 404


def test_the_list_offers_records_for_a_comparison(records: RunRecords, pages: Starlette) -> None:
    name = record(records, "one", placed=4)
    assert f'type="checkbox" name="run" value="{name}"' in get(pages, "/studies").text


RESULT = {"policies": [{"policy": "fgd", "placed": 9, "curve": [1, 2]}], "failed": False}


def test_a_result_is_compared_with_a_run(records: RunRecords, pages: Starlette) -> None:
    run = record(records, "one", placed=10)
    name = keep(records, "stretto.compare/v1")
    text = get(pages, f"/studies/compare?run={run}&run={name}").text
    assert "policies · fgd · placed" in text
    assert "simulate x.csv" in get(pages, "/studies").text


def keep(records: RunRecords, schema: str) -> str:
    return kept(records, {"schema": schema, **RESULT})


def kept(
    records: RunRecords,
    result: dict[str, Any],
    plots: tuple[CurvePlot, ...] = (),
    ended: str = TIMES[0],
) -> str:
    found = KeptResult("simulate x.csv", ended, result, plots)
    return ResultRecords(records.folder / "results").keep(found)


def test_the_oldest_results_are_deleted(records: RunRecords) -> None:
    names = [keep(records, f"stretto.study.n{number:03}/v1") for number in range(KEPT + 1)]
    assert ResultRecords(records.folder / "results").names() == sorted(names[1:], reverse=True)


def test_the_figures_of_a_result_are_its_numbers() -> None:
    assert figures_of(RESULT) == [("policies · fgd · placed", 9.0)]


def test_the_policies_of_a_comparison_are_columns(records: RunRecords, pages: Starlette) -> None:
    sides = [{"side": "fgd", "placed": 9}, {"side": "random", "placed": 7}]
    name = kept(records, {"schema": "stretto.compare.trace/v1", "nodes": 3, "sides": sides})
    text = get(pages, f"/studies/compare?run={name}").text
    assert f"{name}: fgd" in text
    assert '7 <span class="quiet">-2</span>' in text


def test_results_with_more_policies_than_columns_are_refused(
    records: RunRecords, pages: Starlette
) -> None:
    sides = [{"side": str(number), "placed": number} for number in range(6)]
    result = {"schema": "stretto.compare/v1", "sides": sides}
    names = [kept(records, result, ended=at) for at in TIMES]
    page = get(pages, f"/studies/compare?run={names[0]}&run={names[1]}")
    assert page.status_code == 409
    assert "12 of them" in page.text


def test_items_that_share_a_name_are_no_columns() -> None:
    points = [{"design": "a", "name": "x", "s": 1}, {"design": "b", "name": "x", "s": 2}]
    assert sides_of({"points": points}, 8) == {}


def test_a_damaged_result_is_listed_as_unreadable(records: RunRecords, pages: Starlette) -> None:
    name = keep(records, "stretto.study.one-pool/v1")
    (records.folder / "results" / f"{name}.json").write_text("{")
    assert "unreadable" in get(pages, "/studies").text
    assert get(pages, f"/studies/compare?run={name}").status_code == 409
