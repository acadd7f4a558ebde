"""The allocator of offers against what a Mesos master did."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stretto.base.errors import InputError, UnknownNameError
from stretto.cli.main import cli
from stretto_lab.conformance import recordings
from stretto_lab.conformance.offers import cases

RECORDED = Path(__file__).with_name("recorded.jsonl.gz")
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "mesos" / "scenarios.jsonl.gz"


def test_every_recorded_scenario_in_the_repository_is_repeated() -> None:
    report = recordings.run(recordings.read(RECORDED), lambda _: None)
    assert set(report.features) == set(cases.FAMILIES)
    assert report.disagreed == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_recorded_scenario_there_is_is_repeated() -> None:
    if not SHARED.exists():
        pytest.skip("the whole set of recordings is not beside this repository")
    report = recordings.run(recordings.read(SHARED), lambda _: None)
    assert (report.cases, report.disagreed) == (659, [])


def scenario() -> dict[str, Any]:
    with gzip.open(RECORDED) as lines:
        found: dict[str, Any] = json.loads(next(lines))
    return found


def invoke(tmp_path: Path, case: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    file, out = tmp_path / "one.jsonl", tmp_path / "out.json"
    file.write_text(json.dumps(case))
    words = ["conformance", "--cases", str(file), "--json", str(out)]
    code = CliRunner().invoke(cli, words).exit_code
    return code, json.loads(out.read_text())


def test_agreement_ends_the_command_with_exit_code_zero(tmp_path: Path) -> None:
    code, reported = invoke(tmp_path, scenario())
    assert (code, reported["features"]) == (0, {"textbook_q1": {"cases": 1, "agreed": 1}})


def test_a_different_outcome_ends_the_command_with_exit_code_nine(tmp_path: Path) -> None:
    case = scenario()
    case["result"]["exact"]["offers_total.f0"] += 1
    code, reported = invoke(tmp_path, case)
    assert code == 9
    assert [each["field"] for each in reported["disagreed"]] == ["offers_total.f0"]


def test_a_different_grant_is_a_disagreement(tmp_path: Path) -> None:
    case = scenario()
    events = next(record for _, record in case["result"]["log"] if "offers" in record)
    events["offers"][0][0] = "f1"
    assert invoke(tmp_path, case)[0] == 9


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"family": "texbook_q1"}, r"one\.jsonl:1: family"),
        ({"steps": [["tick", "twice"]]}, r"one\.jsonl:1: steps"),
        ({"steps": [["jump"]]}, r"one\.jsonl:1: steps"),
        ({"agents": 3}, r"one\.jsonl:1"),
    ],
)
def test_a_line_that_is_no_scenario_is_named(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    (tmp_path / "one.jsonl").write_text(json.dumps(scenario() | change))
    with pytest.raises((InputError, UnknownNameError), match=said):
        list(map(cases.compare, cases.read(tmp_path / "one.jsonl")))
