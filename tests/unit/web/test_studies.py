"""Run records side by side: figures, differences, downloads."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from stretto.cli.sources.run_studies import RunStudies
from stretto.explain.inventory.result_figures import figures_of, sides_of
from stretto.explain.inventory.run_comparison import RunCurve
from stretto.explain.records.record_file import RecordSources, RunFacts, write_record
from stretto.explain.records.records import RunRecords
from stretto.explain.records.results import KEPT, ResultRecords
from stretto.testing import Harness
from stretto.web.views.parts import DashboardParts
from stretto.web.views.plots import curve_plot
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
    found = get(pages, f"/studies/compare.json?run={name}").json()
    assert found["curves"] == [{"run": name, "seconds": [0.0, 1.0], "placed": [0, 4]}]


def test_the_page_has_the_curves_with_their_values(records: RunRecords, pages: Starlette) -> None:
    name = record(records, "one", placed=4, **CURVE)
    page = get(pages, f"/studies/compare?run={name}").text
    assert f"<title>{name}: 4 pods after 1.0 s</title>" in page
    assert f"{name}: 4 pods placed by the end" in page


@pytest.mark.parametrize("count", [1, 2, 5000])
def test_a_plot_keeps_the_first_and_the_last_value(count: int) -> None:
    times = tuple(float(number) for number in range(count))
    (line,) = curve_plot([RunCurve("a", times, times)]).lines
    assert line.points[0].text == "a: 0 pods after 0.0 s"
    assert line.points[-1].text == f"a: {count - 1:,} pods after {count - 1:,}.0 s"


@pytest.mark.parametrize("most", [0.0003, 1.0, 7.0, 99.0, 123_456.0])
def test_an_axis_has_few_round_ticks(most: float) -> None:
    plot = curve_plot([RunCurve("a", (0.0, most), (0.0, 1.0))])
    assert 2 <= len(plot.times) <= 7
    assert plot.times[0].text == "0"


def test_the_pods_over_time_are_a_picture(records: RunRecords, pages: Starlette) -> None:
    name = record(records, "one", placed=4, **CURVE)
    reply = get(pages, f"/studies/compare.png?run={name}")
    assert (reply.headers["content-type"], reply.content[:4]) == ("image/png", b"\x89PNG")


def test_runs_without_curves_have_no_picture(records: RunRecords, pages: Starlette) -> None:
    name = record(records, "one", placed=4)
    assert get(pages, f"/studies/compare.png?run={name}").status_code == 404


def test_a_comparison_without_records_says_how_many_it_takes(pages: Starlette) -> None:
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
    results = ResultRecords(records.folder / "results")
    return results.keep(schema, "simulate x.csv", "2026-01-01T00:00:00Z", RESULT)


def test_the_oldest_results_are_deleted(records: RunRecords) -> None:
    names = [keep(records, f"stretto.study.n{number:03}/v1") for number in range(KEPT + 1)]
    assert ResultRecords(records.folder / "results").names() == sorted(names[1:], reverse=True)


def test_the_figures_of_a_result_are_its_numbers() -> None:
    assert figures_of(RESULT) == [("policies · fgd · placed", 9.0)]


def test_the_policies_of_a_comparison_are_columns(records: RunRecords, pages: Starlette) -> None:
    sides = [{"side": "fgd", "placed": 9}, {"side": "random", "placed": 7}]
    result = {"nodes": 3, "sides": sides}
    kept = ResultRecords(records.folder / "results")
    name = kept.keep("stretto.compare.trace/v1", "compare x.csv", "2026-01-01T00:00:00Z", result)
    text = get(pages, f"/studies/compare?run={name}").text
    assert f"{name}: fgd" in text
    assert '7 <span class="quiet">-2</span>' in text


def test_results_with_more_policies_than_columns_are_refused(
    records: RunRecords, pages: Starlette
) -> None:
    sides = [{"side": str(number), "placed": number} for number in range(6)]
    kept = ResultRecords(records.folder / "results")
    names = [kept.keep("stretto.compare/v1", "compare", at, {"sides": sides}) for at in TIMES]
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
