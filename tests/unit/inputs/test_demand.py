"""Demand over time and fields of the pods of a trace: what makes a trace elastic in a scenario."""

import json
from pathlib import Path

import msgspec
import pytest

from stretto.api.wire.kinds import POD, SCALING_POLICY
from stretto.base.clock import ManualClock
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.inputs.conversion.scenarios import scenario_timeline
from stretto.inputs.scenario.feed import Feed, materialise
from stretto.inputs.scenario.read import load_scenario
from stretto.sim.feeder import Feeder
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.render import render

POLICY = {
    "apiVersion": "autoscaling.stretto.dev/v1alpha1",
    "kind": "ScalingPolicy",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 1,
        "groups": [{"name": "g", "max": 9, "targetRef": {"kind": "Deployment", "name": "web"}}],
    },
}
SERIES = "second,value\n0,100\n60,101\n120,150\n180,0\n"
LOG = "".join(f"{n} {n * 10} -1 60 1 -1 -1 1 60 -1 1 1 1 -1 1 -1 -1 -1\n" for n in range(1, 4))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text(json.dumps(POLICY))
    (tmp_path / "demand.csv").write_text(SERIES)
    (tmp_path / "log.swf").write_text(LOG)
    return tmp_path


def feed(folder: Path, *workloads: str) -> Feed:
    lines = "".join(f"- {each}\n" for each in ("manifests: [policy.yaml]", *workloads))
    (folder / "s.yaml").write_text("fleet: {like: '8cpu-32gib:3'}\nworkloads:\n" + lines)
    return materialise(load_scenario(folder / "s.yaml"), Rng(0))


def refused(folder: Path, *workloads: str) -> str:
    with pytest.raises(InputError) as caught:
        feed(folder, *workloads)
    return str(caught.value).replace(f"{folder}/", "")


def demand(**more: object) -> str:
    return "demand: " + json.dumps({"policy": "web", "series": "demand.csv", **more})


def test_replicas_are_rounded_up_and_repetitions_left_out(folder: Path) -> None:
    found = feed(folder, demand(per_replica=100))
    assert [(each.time_s, each.replicas) for each in found.demands] == [(0, 1), (60, 2), (180, 0)]


def test_the_replicas_of_a_policy_follow_the_demand(folder: Path) -> None:
    store, found = MemoryStore(ManualClock(), Rng(0)), feed(folder, demand(per_replica=100))
    feeder, sizes = Feeder(found, store, "s"), []
    while (due := feeder.next_due()) < 1000:
        feeder.feed(due)
        (record,) = store.list(SCALING_POLICY).records
        sizes.append((due, msgspec.json.decode(render(record))["spec"]["replicas"]))
    assert sizes == [(0, 1), (60, 2), (180, 0)]


def test_a_resumed_run_applies_the_last_demand_at_once(folder: Path) -> None:
    store, found = MemoryStore(ManualClock(), Rng(0)), feed(folder, demand(per_replica=100))
    first = Feeder(found, store, "s")
    first.pause(100.0)
    second = Feeder(found, store, "s")
    assert (second.feed(second.resumed_at), second.next_due()) == (1, 180)


def test_a_recording_of_the_scenario_has_the_changes(folder: Path) -> None:
    feed(folder, demand(per_replica=100))
    changes = scenario_timeline(folder / "s.yaml").changes
    assert [(at, body["spec"]["replicas"]) for at, _, _, body in changes] == [
        (0, 1),
        (60, 2),
        (180, 0),
    ]


MISTAKES = {
    demand(policy="wep"): (
        "demand.policy: got 'wep', expected a ScalingPolicy of the scenario in namespace default; "
        "did you mean 'web'?"
    ),
    demand(per_replica=0): "demand.per_replica: got 0.0, expected 1e-09..1000000000000",
    demand(per_replica=1e-9): (
        "demand.per_replica: got 1e-09, expected at most 2,147,483,647 replicas; enlarge it"
    ),
    demand(series="none.csv"): "none.csv",
    demand() + "\n  arrival: {at: 0}": (
        "arrival: got nothing, expected no such key together with demand: its series has the "
        "times; drop the key"
    ),
    "pods: {}\n  fields: {}": (
        "fields: got nothing, expected no such key together with pods: it is for traces; "
        "write the fields in pods"
    ),
    "swf: {jobs: log.swf}\n  fields: {labels: {a: 'b c'}}": "fields.labels.a",
    "swf: {jobs: log.swf}\n  fields: {spec: {nodeSelector: 3}}": "nodeSelector",
}


@pytest.mark.parametrize("workload", MISTAKES)
def test_what_makes_no_sense_is_refused(folder: Path, workload: str) -> None:
    assert MISTAKES[workload] in refused(folder, workload)


def test_a_series_out_of_order_is_refused_with_its_row(folder: Path) -> None:
    (folder / "demand.csv").write_text("second,value\n60,1\n60,2\n")
    assert refused(folder, demand()).endswith(
        "demand.csv, row 2: second: got 60.0, expected a second after 60, that of the row before; "
        "sort the rows"
    )


def test_fields_are_added_to_every_pod_of_a_trace(folder: Path) -> None:
    fields = "{labels: {side: x}, annotations: {a/b: c}, spec: {nodeSelector: {pool: tidal}}}"
    found = feed(folder, f"swf: {{jobs: log.swf}}\n  fields: {fields}")
    pods = [msgspec.json.decode(each.body) for each in found.arrivals if each.kind is POD]
    assert len(pods) == 3
    for pod in pods:
        meta, spec = pod["metadata"], pod["spec"]
        assert (meta["labels"]["side"], meta["annotations"]["a/b"]) == ("x", "c")
        assert spec["nodeSelector"] == {"pool": "tidal"}
