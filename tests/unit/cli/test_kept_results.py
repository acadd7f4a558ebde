"""Results of simulations and studies are kept for the dashboard."""

from pathlib import Path

import pytest

from stretto.base.clock import ManualClock
from stretto.cli.console import Console
from stretto.explain.records.curves import CurvePlot, PlotLine, PlotTexts
from stretto.explain.records.results import MOST_BYTES, ResultRecords


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ResultRecords:
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path))
    return ResultRecords()


def console(json: str = "") -> Console:
    return Console(json=json, clock=ManualClock(1_790_000_000.0))


@pytest.mark.parametrize(
    ("schema", "count"),
    [("stretto.simulate.openb/v1", 1), ("stretto.study.one-pool/v1", 1), ("stretto.plan/v1", 0)],
)
def test_results_of_studies_are_kept(results: ResultRecords, schema: str, count: int) -> None:
    console().json(schema, {"placed": 3})
    assert len(results.names()) == count


def test_a_kept_result_has_its_time_and_its_content(results: ResultRecords) -> None:
    console().json("stretto.study.one-pool/v1", {"placed": 3})
    (name,) = results.names()
    found = results.read(name)
    assert (name, found.ended) == ("20260921-141320-study-one-pool", "2026-09-21T14:13:20Z")
    assert found.result == {"schema": "stretto.study.one-pool/v1", "placed": 3}


def test_the_curves_of_a_result_are_kept(results: ResultRecords) -> None:
    plot = CurvePlot("usage", [PlotLine("easy", [0.0], [7.0])], PlotTexts("t", "hours", "%"))
    console().json("stretto.compare.trace/v1", {"placed": 3}, [plot])
    (kept,) = results.read(results.names()[0]).plots
    assert (kept.lines[0].label, kept.lines[0].y) == ("easy", [7.0])


def test_partial_results_are_not_kept(results: ResultRecords, tmp_path: Path) -> None:
    console(str(tmp_path / "x.json")).json_so_far("stretto.study.omega/v1", {"placed": 3})
    assert results.names() == []


def test_large_results_are_not_kept(results: ResultRecords) -> None:
    console().json("stretto.study.omega/v1", {"text": "x" * MOST_BYTES})
    assert results.names() == []


def test_a_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "file"))
    console().json("stretto.study.omega/v1", {"placed": 3})
