"""The planners of the federation against what KubeAdmiral and Karmada computed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.base.errors import InputError, UnknownNameError
from stretto.cli.main import cli
from stretto_lab.conformance import family_cases, recordings
from stretto_lab.conformance.federation.families import FAMILIES

RECORDED = Path(__file__).with_name("recorded.jsonl.gz")
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "federation"
EMPTY = {"plan": {}, "overflow": {}, "final": {}}
CASE = {"id": "x", "family": "ka_spread_plan", "input": {"clusters": []}, "expect": EMPTY}


def test_every_recorded_decision_in_the_repository_is_computed_again() -> None:
    report = recordings.run(recordings.read(RECORDED), lambda _: None)
    assert set(report.features) == set(FAMILIES)
    assert report.disagreed == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_recorded_decision_there_is_is_computed_again(family: str) -> None:
    path = SHARED / f"{family}.jsonl.gz"
    if not path.exists():
        pytest.skip("the whole set of recordings is not beside this repository")
    report = recordings.run(recordings.read(path), lambda _: None)
    assert report.cases >= 1500
    assert report.disagreed == []


def invoke(tmp_path: Path, case: dict[str, object]) -> tuple[int, dict[str, object]]:
    file, out = tmp_path / "one.jsonl", tmp_path / "out.json"
    file.write_text(json.dumps(case))
    words = ["conformance", "--cases", str(file), "--json", str(out)]
    code = CliRunner().invoke(cli, words).exit_code
    return code, json.loads(out.read_text())


def test_agreement_ends_the_command_with_exit_code_zero(tmp_path: Path) -> None:
    code, reported = invoke(tmp_path, CASE)
    assert (code, reported["features"]) == (0, {"ka_spread_plan": {"cases": 1, "agreed": 1}})


def test_a_disagreement_ends_the_command_with_exit_code_nine(tmp_path: Path) -> None:
    code, reported = invoke(tmp_path, CASE | {"expect": EMPTY | {"plan": {"a": 1}}})
    assert code == 9
    assert reported["disagreed"] == [{"id": "x", "field": "plan", "want": {"a": 1}, "got": {}}]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"family": "ka_spred_plan"}, r"one\.jsonl:1: family"),
        ({"input": {}}, r"one\.jsonl:1: input"),
        ({"input": {"clusters": 3}}, r"one\.jsonl:1: input"),
        ({"expect": 3}, r"one\.jsonl:1"),
    ],
)
def test_a_line_that_is_no_case_is_named(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    (tmp_path / "one.jsonl").write_text(json.dumps(CASE | change))
    with pytest.raises((InputError, UnknownNameError), match=said):
        list(map(family_cases.compare, family_cases.read(tmp_path / "one.jsonl")))


def test_an_invalid_preferred_term_ends_the_scheduling_with_an_error() -> None:
    term = {"weight": 1, "match_expressions": [{"key": "gen", "operator": "Gt", "values": ["x"]}]}
    unit = {"key": "a/b", "mode": "Divide", "strategy": "Spread", "preferred_terms": [term]}
    clusters = [{"name": "a"}, {"name": "b", "not_ready": True}]
    found = FAMILIES["ka_schedule"]({"unit": unit, "clusters": clusters})
    assert found["filtered_by"] == {"b": "ClusterReady"}
    assert "exactly one integer for Gt" in found["error"]


def test_an_invalid_required_term_rejects_every_cluster() -> None:
    term = {"match_expressions": [{"key": "gen", "operator": "Gt", "values": ["x"]}]}
    unit = {"key": "a/b", "mode": "Divide", "strategy": "Spread", "required_terms": [term]}
    found = FAMILIES["ka_schedule"]({"unit": unit, "clusters": [{"name": "a"}]})
    assert found["filtered_by"] == {"a": "ClusterAffinity"}
