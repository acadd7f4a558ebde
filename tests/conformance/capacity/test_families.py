"""The capacity models against what Kubernetes, Koordinator, Katalyst and Volcano computed."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stretto.base.errors import InputError
from stretto.cli.main import cli
from stretto_lab.conformance import recordings
from stretto_lab.conformance.capacity.families import FAMILIES
from stretto_lab.conformance.family_cases import FamilyCase, compare

RECORDED = Path(__file__).with_name("recorded")
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "capacity"
BOUNDARIES = [
    json.loads(line)
    for line in Path(__file__).with_name("boundaries.jsonl").read_text("utf-8").splitlines()
]
CASE = {
    "id": "x",
    "family": "ko_estimator",
    "input": {"pod": {}, "node": {}},
    "expect": {"node": {}, "pod": {"cpu": 250.0, "memory": 209715200}},
}
VPA = {
    "config": {},
    "containers": [{"name": "c", "events": [{"at_s": 0, "kind": "gpu", "value": 1}]}],
}
"""A history with an event of an unknown kind."""


@pytest.mark.parametrize("family", FAMILIES)
def test_recorded_results_in_the_repository_are_computed_again(family: str) -> None:
    report = recordings.run(recordings.read(RECORDED / f"{family}.jsonl.gz"), lambda _: None)
    assert set(report.features) == {family}
    assert report.disagreed == []


def agrees(got: Any, want: Any) -> bool:
    """Return whether a result has the expected fields; of errors, the presence counts."""
    if isinstance(want, dict):
        return all(
            key in got and (key == "error" or agrees(got[key], value))
            for key, value in want.items()
        )
    if isinstance(want, list):
        return len(got) == len(want) and all(map(agrees, got, want))
    return bool(got == (pytest.approx(want, rel=1e-9) if isinstance(want, int | float) else want))


@pytest.mark.parametrize("case", BOUNDARIES, ids=[each["id"] for each in BOUNDARIES])
def test_boundaries_are_those_of_the_formulas(case: dict[str, Any]) -> None:
    assert agrees(FAMILIES[case["family"]].compute(case["input"]), case["expect"])


@pytest.mark.parametrize(
    ("family", "wrong"),
    [
        ("hpa_replicas", {"target": 0}),
        ("hpa_metrics", {"specs": []}),
        ("kc_numa", {"pod": {"name": "p", "containers": []}}),
    ],
)
def test_an_input_that_a_family_cannot_compute_is_named(family: str, wrong: dict[str, Any]) -> None:
    given = next(each["input"] for each in BOUNDARIES if each["family"] == family)
    case = FamilyCase("x", family, given | wrong, {})
    with pytest.raises(InputError, match=f"x: input: .*the arguments of {family}"):
        compare(case)


def test_the_cpu_weight_of_packing_replaces_one_in_the_list_of_resources() -> None:
    arguments = {"binpack.resources": "cpu", "binpack.resources.cpu": 0, "binpack.weight": "x"}
    node = {"name": "n", "used": {}, "allocatable": {"cpu": 2}}
    given = {"arguments": arguments, "requests": {"cpu": 1}, "nodes": [node]}
    assert FAMILIES["vo_binpack"].compute(given) == {"scores": {"n": 50.0}}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("family", FAMILIES)
def test_all_recorded_results_are_computed_again(family: str) -> None:
    path = SHARED / f"{family}.jsonl.gz"
    if not path.exists():
        pytest.skip("the whole set of recordings is not beside this repository")
    report = recordings.run(recordings.read(path), lambda _: None)
    assert report.cases >= 500
    assert report.disagreed == []


@pytest.mark.parametrize(("cpu", "code"), [(250, 0), (250 * (1 + 1e-9), 0), (251, 9), (True, 9)])
def test_numbers_agree_within_the_precision_of_floats(
    tmp_path: Path, cpu: float, code: int
) -> None:
    file = tmp_path / "one.jsonl"
    expect = {"node": {}, "pod": {"cpu": cpu, "memory": 209715200}}
    file.write_text(json.dumps(CASE | {"expect": expect}))
    assert CliRunner().invoke(cli, ["conformance", "--cases", str(file)]).exit_code == code


@pytest.mark.parametrize(
    ("family", "given", "said"),
    [
        ("ko_suppress", {}, "input: capacity_cpu_milli: got nothing, expected a value"),
        ("ko_suppress", {"capacity_cpu_milli": "x"}, "capacity_cpu_milli: got 'x', expected"),
        ("vpa_recommend", VPA, "input: got 'gpu', expected a name that vpa_recommend knows"),
    ],
)
def test_wrong_arguments_are_named_by_their_path(
    tmp_path: Path, family: str, given: dict[str, Any], said: str
) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps({"id": "a", "family": family, "input": given, "expect": {}}))
    result = CliRunner().invoke(cli, ["conformance", "--cases", str(file)])
    assert (result.exit_code, said in result.output) == (2, True)


def refused(queues: list[dict[str, str]], jobs: list[dict[str, object]]) -> dict[str, Any]:
    """Result of Volcano's capacity plugin for queues that are not a valid tree."""
    given = {"total": {"cpu": 9}, "hierarchy": True, "queues": queues, "jobs": jobs}
    return FAMILIES["vo_capacity"].compute(given)


def test_queues_after_one_with_an_unknown_parent_are_not_read() -> None:
    queues = [{"name": "root"}, {"name": "a"}, {"name": "b", "parent": "x"}, {"name": "c"}]
    assert refused(queues, [])["queue_order"] == ["a", "b", "root"]
    assert refused(queues[1:], [])["queue_order"] == ["a"]


def test_jobs_before_one_in_a_parent_queue_count_for_the_queue_and_its_ancestors() -> None:
    tasks = [{"status": "Running", "requests": {"cpu": 2}}]
    job = {"phase": "Running", "tasks": tasks}
    queues = [{"name": "root"}, {"name": "a"}, {"name": "b", "parent": "a"}]
    jobs = [job | {"name": name, "queue": queue} for name, queue in (("k", "a"), ("j", "b"))]
    found = refused(queues, jobs)["queues"]
    assert [found[name]["allocated"]["cpu"] for name in ("root", "a", "b")] == [2, 2, 2]


STATIC_NODE = {
    "pod": {"containers": [{"cpu_milli": 1000}]},
    "allocatable_cpu_milli": 8000,
    "original_allocatable_cpu": "abc",
    "cpu_ratio": "2",
    "memory_ratio": "2",
    "cpu_manager": "static",
}
"""A pod on an overcommitted node whose CPU before overcommit cannot be read."""


@pytest.mark.parametrize(
    ("change", "result"),
    [
        ({}, "Error"),
        ({"memory_manager": "Static"}, "Unschedulable"),
        ({"cpu_manager": "none"}, ""),
        ({"cpu_manager": "none", "node_unknown": True}, "Error"),
        ({"pod": {"containers": [{}]}, "node_unknown": True}, ""),
    ],
)
def test_pinned_memory_refuses_a_pod_before_unreadable_cpu(
    change: dict[str, Any], result: str
) -> None:
    found = FAMILIES["kc_overcommit_filter"].compute(STATIC_NODE | change)
    assert found["filter"] == result


def test_the_memory_headroom_contains_numa_nodes_that_lend_nothing() -> None:
    cases = recordings.read(RECORDED / "kc_headroom_mem.jsonl.gz")
    given = next(each.input for each in cases if each.input["policy"] == "numa_aware")
    owner = {"pod": "p", "name": "c", "qos": "dedicated_cores", "memory_request": 1, "numas": [0]}
    change = {"node_enable_reclaim": False, "containers": [owner | {"numa_exclusive": True}]}
    found = FAMILIES["kc_headroom_mem"].compute(given | change)
    assert (found["numa"]["0"], len(found["numa"])) == (0, len(given["numas"]))
