"""``stretto recommend``: recommendations of a state and of a file of measurements."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stretto.api.wire.kinds import (
    NODE,
    POD,
    REPLICA_SET,
    VERTICAL_CHECKPOINT,
    VERTICAL_POD_AUTOSCALER,
)
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.cli.main import cli
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.testing import make_node

Fields = dict[str, Any]

HEADER = "second,workload,pod,container,cpu,memory"
ROW = "0,web,web-1,c,200m,300Mi"


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["recommend", *words])


def rows(*words: str) -> dict[str, Fields]:
    """Rows by container and resource."""
    done = run(*words, "-o", "json")
    assert done.exit_code == 0, done.output
    items = json.loads(done.stdout)["items"]
    return {f"{each['container']}/{each['resource']}": each for each in items}


def use(tmp_path: Path, *lines: str) -> str:
    path = tmp_path / "use.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def put(
    store: SqliteStore, kind: Any, name: str, owner: Fields | None = None, **fields: Any
) -> None:
    owners = [] if owner is None else [{**owner, "controller": True, "apiVersion": "apps/v1"}]
    head = {"name": name, "namespace": "shop", "ownerReferences": owners}
    (reply,) = store.create(kind, [json.dumps({"metadata": head, **fields}).encode()])
    assert reply.record is not None, reply.message


def autoscaler(target: Fields | None = None, **bounds: Fields) -> Fields:
    found = {"containerName": "c", "target": target, **bounds}
    reference = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
    condition = {"type": "Measured", "status": "False", "reason": "NoMeasurement", "message": "old"}
    status: Fields = {"conditions": [condition]}
    if target is not None:
        status["recommendation"] = {"containerRecommendations": [found]}
    return {"spec": {"targetRef": reference}, "status": status}


@pytest.fixture
def state(tmp_path: Path) -> str:
    """A Deployment with two pods of different size, one pod that has ended, and its autoscaler."""
    store = SqliteStore(tmp_path / "run.db", ManualClock(), Rng(0))
    store.create(NODE, [make_node("n", cpu="8")])
    put(store, REPLICA_SET, "web-5", {"kind": "Deployment", "name": "web"}, spec={})
    for name, cpu, phase in (("a", "1", "Running"), ("b", "2", "Running"), ("d", "9", "Failed")):
        container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
        owner = {"kind": "ReplicaSet", "name": "web-5"}
        pod = {"spec": {"containers": [container]}, "status": {"phase": phase}}
        put(store, POD, name, owner, **pod)
    target = {"cpu": "500m", "memory": "1Gi"}
    bounds = {"lowerBound": {"cpu": "400m"}, "upperBound": {"cpu": "700m"}}
    put(store, VERTICAL_POD_AUTOSCALER, "web", **autoscaler(target, **bounds))
    extent = {"firstSampleStart": "2026-01-01T00:00:00Z", "lastSampleStart": "2026-01-01T12:00:00Z"}
    status = {**extent, "totalSamplesCount": 360}
    spec = {"vpaObjectName": "web", "containerName": "c"}
    put(store, VERTICAL_CHECKPOINT, "web-c", spec=spec, status=status)
    put(store, VERTICAL_POD_AUTOSCALER, "none", **autoscaler())
    store.close()
    return f"sqlite:{tmp_path / 'run.db'}"


def test_a_request_above_the_bounds_should_be_lowered(state: str) -> None:
    found = rows("--on", state)["c/cpu"]
    assert (found["workload"], found["request"]) == ("Deployment shop/web", 2000)
    assert (found["target"], found["lower_bound"], found["upper_bound"]) == (500, 400, 700)
    assert (found["advice"], found["history_s"], found["confidence"]) == ("lower", 43200.0, 0.25)


def test_a_missing_request_should_be_set(state: str) -> None:
    found = rows("--on", state)["c/memory"]
    assert (found["request"], found["target"], found["advice"]) == (None, 1 << 30, "set")


def test_problems_of_autoscalers_are_stated(state: str) -> None:
    done = run("--on", state, "-o", "json")
    assert json.loads(done.stdout)["problems"] == {"shop/web": "old", "shop/none": "old"}
    assert "shop/none: old" in done.stderr


def test_another_namespace_has_no_autoscalers(state: str) -> None:
    done = run("--on", state, "-n", "other")
    assert done.exit_code == 0
    assert "no VerticalPodAutoscalers in namespace other" in done.stderr


def test_measurements_in_a_file_are_recommended_with_a_margin(tmp_path: Path) -> None:
    lines = [f"{60 * minute},web,web-1,c,200m,300Mi" for minute in range(1440)]
    found = rows("--usage", use(tmp_path, HEADER, *lines))
    assert (found["c/cpu"]["target"], found["c/memory"]["target"]) == (247, 380258472)
    assert found["c/cpu"]["confidence"] == pytest.approx(1, abs=0.01)


def test_a_kill_in_a_file_raises_memory(tmp_path: Path) -> None:
    header = f"{HEADER},killed,memory_request"
    path = use(tmp_path, header, f"{ROW},,", "60,web,web-1,c,200m,300Mi,1,1Gi")
    found = rows("--usage", path)["c/memory"]
    assert found["target"] > 1.2 * (1 << 30)
    assert found["request"] == 1 << 30


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((), "expected text in the file"),
        ((HEADER,), "at least one measurement"),
        (("second,workload,pod,container,cpu", "0,a,b,c,1"), "memory"),
        ((HEADER, "60,web,w,c,1,1", ROW), "sort the rows"),
        ((HEADER, "0,web,w,c,-1,1Mi"), "column cpu"),
        ((HEADER, "0,web,w,c,much,1Mi"), "column cpu"),
        ((HEADER, "0,web,w,c,1,"), "column memory"),
        ((HEADER, "0,,w,c,1,1"), "column workload"),
        ((HEADER, "soon,web,w,c,1,1"), "column second"),
        ((f"{HEADER},killed", f"{ROW},yes"), "0 or 1"),
    ],
)
def test_a_file_that_cannot_be_used_names_the_place(
    tmp_path: Path, lines: tuple[str, ...], said: str
) -> None:
    done = run("--usage", use(tmp_path, *lines))
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.parametrize("more", [("--on", "cluster"), ("-n", "shop"), ("--profile", "default")])
def test_a_file_and_a_state_exclude_each_other(tmp_path: Path, more: tuple[str, ...]) -> None:
    done = run("--usage", use(tmp_path, HEADER, ROW), *more)
    assert done.exit_code == 2
    assert "remove one of the options" in done.stderr
