"""The exact path against what kube-scheduler itself decided: a part of the recordings, and all."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from stretto.base.errors import InputError
from stretto.cli.main import cli
from stretto_lab.conformance import kube_cases

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "kube_parity"
FILES = ["cases.jsonl.gz", "sequences.jsonl.gz"]
GENERATED = "generated.jsonl.gz"


def first(name: str) -> kube_cases.ConformanceCase:
    return next(iter(kube_cases.read(DATA / name)))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", [*FILES, GENERATED])
def test_every_recorded_decision_in_the_repository_is_made_again(name: str) -> None:
    report = kube_cases.run(kube_cases.read(DATA / name))
    assert report.cases >= 24
    assert [(each.id, each.field) for each in report.disagreed] == []


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", FILES)
def test_every_recorded_decision_there_is_is_made_again(name: str) -> None:
    if not (SHARED / name).exists():
        pytest.skip("the whole set of recordings is not beside this repository")
    report = kube_cases.run(kube_cases.read(SHARED / name))
    assert report.cases >= 500
    assert [(each.id, each.field) for each in report.disagreed] == []


def test_a_field_that_differs_is_reported_with_both_values() -> None:
    case = first("cases.jsonl.gz")
    expect = {**case.expect, "feasible": ["nowhere"]}
    found = kube_cases.compare(
        kube_cases.ConformanceCase(
            case.id, case.nodes, case.pods, case.objects, case.pod, (), case.features, expect
        )
    )
    assert [(each.field, each.want) for each in found] == [("feasible", ["nowhere"])]


def test_a_disagreement_ends_the_command_with_exit_code_nine(tmp_path: Path) -> None:
    line = json.dumps(
        {"id": "x", "features": ["f"], "expect": {}, "pod": {"metadata": {"name": "p"}, "spec": {}}}
    )
    (tmp_path / "one.jsonl").write_text(line)
    out = tmp_path / "out.json"
    words = ["conformance", "--cases", str(tmp_path / "one.jsonl"), "--json", str(out)]
    assert CliRunner().invoke(cli, words).exit_code == 9
    reported = json.loads(out.read_text())
    assert (reported["cases"], reported["agreed"]) == (1, 0)
    assert reported["features"] == {"f": {"cases": 1, "agreed": 0}}
    assert {each["field"] for each in reported["disagreed"]} == {"feasible", "message"}


def test_agreement_ends_the_command_with_exit_code_zero(tmp_path: Path) -> None:
    case = {
        "id": "x",
        "pod": {"metadata": {"name": "p"}, "spec": {}},
        "expect": {"feasible": [], "message": "no nodes available to schedule pods"},
    }
    (tmp_path / "one.jsonl").write_text(json.dumps(case))
    words = ["conformance", "--cases", str(tmp_path / "one.jsonl")]
    assert CliRunner().invoke(cli, words).exit_code == 0


def test_a_malformed_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"id": 7}\n')
    with pytest.raises(InputError, match=r"bad\.jsonl:1"):
        list(kube_cases.read(tmp_path / "bad.jsonl"))


def test_a_file_that_is_not_compressed_as_its_name_states_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl.gz").write_text("plain")
    with pytest.raises(InputError, match="readable lines"):
        list(kube_cases.read(tmp_path / "bad.jsonl.gz"))


POD = {"metadata": {"name": "p"}, "spec": {}}
GOOD = {
    "id": "x",
    "pod": POD,
    "expect": {"feasible": [], "message": "no nodes available to schedule pods"},
}
TWICE = [{"metadata": {"name": "n"}}] * 2
PDB = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pod": None}, "a pod to decide about, or a sequence"),
        ({"sequence": [POD]}, "a pod to decide about, or a sequence"),
        ({"expect": None}, "expect: got nothing"),
        ({"nodes": TWICE}, r"nodes\[1\].metadata.name: got 'n'"),
        ({"objects": [{"apiVersion": "v1", "kind": "Foo"}]}, r"objects\[0\]: got 'v1 Foo'"),
        ({"objects": [3]}, r"objects\[0\]: got 3"),
        (
            {"objects": [PDB | {"spec": {"minAvailable": [1]}}]},
            r"objects\[0\] b: spec.minAvailable: got",
        ),
        ({"pod": None, "sequence": [POD], "expect": {"steps": [1]}}, "expect.steps"),
    ],
)
def test_a_line_that_is_no_case_is_named_with_its_number(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    bad = {name: each for name, each in (GOOD | change).items() if each is not None}
    path = tmp_path / "two.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{json.dumps(bad)}\n")
    with pytest.raises(InputError, match=rf"two\.jsonl:2.*{said}"):
        kube_cases.run(kube_cases.read(path))


def test_steps_that_were_recorded_of_no_pod_disagree() -> None:
    case = first("sequences.jsonl.gz")
    cut = msgspec.structs.replace(case, sequence=case.sequence[:-1])
    assert {each.got for each in kube_cases.compare(cut)} == {None}


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_file_without_cases_ends_the_command_with_exit_code_two(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "none.jsonl").write_text(text)
    words = ["conformance", "--cases", str(tmp_path / "none.jsonl")]
    assert CliRunner().invoke(cli, words).exit_code == 2


def test_compressed_cases_are_read_whatever_their_file_is_called(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_bytes(gzip.compress(json.dumps(GOOD).encode()))
    assert kube_cases.run(kube_cases.read(tmp_path / "one.jsonl")).agreed == 1


def test_ctrl_c_keeps_what_was_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    case = first("cases.jsonl.gz")

    def interrupted(_path: Path) -> Iterator[kube_cases.ConformanceCase]:
        yield case
        raise KeyboardInterrupt

    monkeypatch.setattr(kube_cases, "read", interrupted)
    out = tmp_path / "out.json"
    words = ["conformance", "--cases", str(DATA / "cases.jsonl.gz"), "--json", str(out)]
    assert CliRunner().invoke(cli, words).exit_code == 130
    reported = json.loads(out.read_text())
    assert (reported["cases"], reported["agreed"], reported["partial"]) == (1, 1, True)


def test_the_recordings_in_the_repository_stay_small() -> None:
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 400_000
