"""The plan command: tried on a copy, reported as the difference, without other effects."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from stretto.api.kinds.table import all_kinds
from stretto.api.wire.kinds import NODE, POD, POD_GROUP, STORAGE_CLASS, Kind
from stretto.base.clock import ManualClock
from stretto.base.errors import InputError, NotFoundError, UnreachableError
from stretto.base.rng import Rng
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.explain.words.reasons import ReasonCode
from stretto.inputs.objects.relations import InputObject
from stretto.plane.copy import PlaneCopy, SchedulingRules, StoreState
from stretto.sim.history.plan import PlanReport, plan
from stretto.sim.states.source import state_of
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.testing import Harness, make_group, make_node, make_pod

NUMPY = SchedulingRules("default", "numpy")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ONLY_ELSEWHERE = {
    "nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["elsewhere"]}]}
    ]
}
SERVER = {"name": "main", "ports": [{"containerPort": 80}]}


def state(*pods: bytes, nodes: Sequence[bytes] = (), settle: bool = True) -> StoreState:
    harness = Harness(nodes=nodes or [make_node("n", cpu="4")], config={"tier": "numpy"})
    harness.submit(*pods)
    if settle:
        harness.settle()
    return StoreState(
        "test", [each for kind in all_kinds() for each in harness.store.list(kind).records]
    )


def objects(*bodies: bytes, kind: Kind = POD) -> list[InputObject]:
    names = [msgspec.json.decode(body)["metadata"]["name"] for body in bodies]
    space = "default" if kind.namespaced else ""
    return [InputObject(kind, space, n, b, "test") for n, b in zip(names, bodies, strict=True)]


def planned(on: StoreState, *pods: bytes) -> PlanReport:
    return plan(on, objects(*pods), NUMPY)


def test_pods_that_fit_get_a_node_and_the_rest_report_why() -> None:
    said = planned(state(make_pod("old", cpu="2")), make_pod("a", cpu="1"), make_pod("b", cpu="3"))
    assert [(each.pod, each.node) for each in said.placed] == [("default/a", "n")]
    (waiting,) = said.pending
    assert (waiting.pods, waiting.reason and waiting.reason.code) == (
        ("default/b",),
        ReasonCode.NO_CAPACITY,
    )
    assert waiting.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert said.unfit == 1


def test_pods_with_a_node_of_their_own_are_judged_as_its_kubelet_does() -> None:
    pods = [
        make_pod("ghost", node="nowhere"),
        make_pod("first", cpu="3", node="n"),
        make_pod("second", cpu="2", node="n"),
    ]
    said = planned(state(make_pod("old", cpu="1", node="n")), *pods)
    assert [each.pod for each in said.placed] == ["default/first"]
    assert [(each.pod, each.reason) for each in said.kubelet_refused] == [
        ("default/ghost", "NoSuchNode"),
        ("default/second", "OutOfcpu"),
    ]
    assert said.kubelet_refused[1].message == (
        "Node didn't have enough resource: cpu, requested: 2000, used: 4000, capacity: 4000"
    )
    assert said.unfit == 2


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, "NodeAffinity"),
        ({"nodeSelector": {"kubernetes.io/arch": "arm64"}}, "NodeAffinity"),
        ({"affinity": {"nodeAffinity": {REQUIRED: ONLY_ELSEWHERE}}}, "NodeAffinity"),
        ({"os": {"name": "windows"}}, "PodOSNotSupported"),
        ({"hostNetwork": True, "containers": [SERVER]}, "NodePorts"),
        ({}, "TaintToleration"),
        ({"tolerations": [{"operator": "Exists", "effect": "NoSchedule"}]}, "TaintToleration"),
        ({"tolerations": [{"key": "repair", "operator": "Exists"}]}, ""),
    ],
)
def test_a_kubelet_rejects_what_its_node_does_not_match(
    spec: dict[str, object], reason: str
) -> None:
    taints = [
        {"key": "repair", "effect": "NoExecute"},
        {"key": "full", "effect": "NoSchedule"},
    ]
    server = make_pod("server", node="n", ports=[80])
    said = planned(
        state(server, nodes=[make_node("n", taints=taints)]), make_pod("p", node="n", spec=spec)
    )
    assert [each.reason for each in said.kubelet_refused] == [reason] * bool(reason)
    assert len(said.placed) == (not reason)


def test_a_rejected_pod_takes_nothing_from_its_node() -> None:
    said = planned(state(), make_pod("a", cpu="5", node="n"), make_pod("b", cpu="4"))
    assert [each.pod for each in said.placed] == ["default/b"]
    assert [each.after_pct for each in said.use if each.resource == "cpu"] == [100.0]


def test_a_pod_labelled_for_another_operating_system_is_rejected() -> None:
    pod = make_pod("p", node="n", labels={"kubernetes.io/os": "windows"})
    (refused,) = planned(state(), pod).kubelet_refused
    assert refused.reason == "PodOSSelectorNodeLabelDoesNotMatch"


def test_a_kubelet_ignores_extended_resources_that_its_node_does_not_have() -> None:
    pod = make_pod("p", node="n", resources={"example.com/license": "1"})
    assert planned(state(), pod).kubelet_refused == ()


def test_a_kubelet_counts_the_devices_of_its_running_pods() -> None:
    on = state(make_pod("old", node="n", gpus=1), nodes=[make_node("n", gpus=2)])
    said = planned(on, *(make_pod(name, node="n", gpus=1) for name in "ab"))
    assert [(each.pod, each.reason) for each in said.kubelet_refused] == [
        ("default/b", "OutOfnvidia.com/gpu")
    ]


@pytest.mark.parametrize("mode", ["WaitForFirstConsumer", "Immediate"])
def test_a_pod_gets_the_claims_of_its_ephemeral_volumes(mode: str) -> None:
    local = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "local"},
        "provisioner": "example.com/local",
        "volumeBindingMode": mode,
    }
    size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    template = {"spec": {"storageClassName": "local", **size}}
    volumes = [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": template}}]
    classes = objects(msgspec.json.encode(local), kind=STORAGE_CLASS)
    pods = objects(make_pod("p", spec={"volumes": volumes}))
    said = plan(state(), [*classes, *pods], NUMPY)
    assert [each.pod for each in said.placed] == ["default/p"]


def test_the_state_itself_is_not_touched() -> None:
    before = state(make_pod("old"))
    versions = [(each.uid, each.version, each.node) for each in before.records]
    planned(before, make_pod("a"))
    assert [(each.uid, each.version, each.node) for each in before.records] == versions


def test_what_waits_already_has_its_turn_first() -> None:
    waiting = state(make_pod("first", cpu="3"), settle=False)
    said = planned(waiting, make_pod("second", cpu="3"))
    assert said.placed == ()
    assert said.pending[0].pods == ("default/second",)


def test_new_nodes_may_help_what_waits() -> None:
    said = plan(state(make_pod("big", cpu="8")), objects(make_node("m", cpu="8"), kind=NODE), NUMPY)
    assert [(each.pod, each.node) for each in said.also_placed] == [("default/big", "m")]
    assert (said.pods, said.unfit) == (0, 0)


def test_a_gang_that_does_not_fit_as_a_whole_is_reported_as_one() -> None:
    gang = objects(make_group("g", 3), kind=POD_GROUP)
    pods = objects(*(make_pod(f"p{i}", cpu="2", group="g") for i in range(3)))
    said = plan(state(), [*gang, *pods], NUMPY)
    assert said.placed == ()
    assert [len(each.pods) for each in said.pending] == [3]
    assert said.pending[0].reason is not None
    assert said.pending[0].reason.code is ReasonCode.GANG_TOO_BIG


def test_existing_objects_are_compared_and_reported() -> None:
    said = planned(state(make_pod("a")), make_pod("a"), make_pod("b"))
    assert [each.pod for each in said.placed] == ["default/b"]
    assert said.refused == ()
    assert [(each.object, each.change.value) for each in said.changes] == [
        ("Pod default/a", "unchanged"),
        ("Pod default/b", "create"),
    ]


def test_pods_that_are_held_back_are_no_misfits() -> None:
    gated = make_pod("g", spec={"schedulingGates": [{"name": "wait"}]})
    said = planned(state(), gated, make_pod("other", scheduler="another"))
    assert [each.reason and each.reason.code for each in said.pending] == [
        ReasonCode.OTHER_SCHEDULER,
        ReasonCode.GATED,
    ]
    assert said.unfit == 0


LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}


@pytest.mark.parametrize("profile", ["default", "kube-parity"])
def test_a_pod_that_waits_for_a_terminating_one_reports_it(profile: str) -> None:
    body = msgspec.json.decode(make_pod("old", cpu="4", node="n"))
    body["metadata"] |= LEAVING
    report = plan(
        state(msgspec.json.encode(body)),
        objects(make_pod("new", cpu="4", priority=9)),
        SchedulingRules(profile, "numpy"),
    )
    assert report.pending[0].reason is not None
    expected = "n is promised to it; it is bound when default/old is gone."
    assert report.pending[0].reason.sentence == expected
    assert (report.placed, report.victims, report.unfit) == ((), (), 0)


def test_scheduling_gates_are_named() -> None:
    gates = {"schedulingGates": [{"name": "example.com/a"}]}
    (group,) = plan(state(), objects(make_pod("p", spec=gates)), NUMPY).pending
    assert group.reason is not None
    assert group.reason.sentence == "The scheduling gate example.com/a must be removed first."


def test_usage_is_reported_before_and_after() -> None:
    said = planned(state(make_pod("old", cpu="1")), make_pod("a", cpu="2"))
    cpu = next(each for each in said.use if each.resource == "cpu")
    assert (cpu.before_pct, cpu.after_pct) == (25.0, 75.0)


# ---------------------------------------------------------------- sources of states


def test_a_store_on_disk_is_read_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = SqliteStore(path, ManualClock(), Rng(1))
    store.create(NODE, [make_node("n")])
    store.close()
    before = path.read_bytes()
    said = planned(state_of(f"sqlite:{path}"), make_pod("a"))
    assert [each.node for each in said.placed] == ["n"]
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["s.db"]


def test_a_store_that_a_process_has_open_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db", ManualClock(), Rng(1))
    with pytest.raises(UnreachableError, match="another process has it open"):
        state_of(f"sqlite:{tmp_path / 's.db'}")
    store.close()


def test_shapes_are_a_state_of_empty_nodes() -> None:
    found = state_of("4cpu-16gib:1,16cpu-64gib:2")
    assert [each.name for each in found.records] == ["node-0000", "node-0001", "node-0002"]
    assert planned(found, *(make_pod(f"p{i}", cpu="16") for i in range(3))).unfit == 1


def test_a_state_without_nodes_is_refused() -> None:
    with pytest.raises(InputError, match="'4cpu-16gib:0', expected 1"):
        state_of("4cpu-16gib:0")


def test_what_is_no_state_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path))
    (tmp_path / "empty.db").write_bytes(b"")
    for spelled in ("sqlite:nowhere.db", f"sqlite:{tmp_path / 'empty.db'}"):
        with pytest.raises(InputError):
            state_of(spelled)
    with pytest.raises(NotFoundError, match="stretto run"):
        state_of("no-such-run")


def test_a_scenario_is_run_to_its_end_first(tmp_path: Path) -> None:
    text = "fleet: {shapes: [{count: 1, cpu: 4, memory: 8Gi}]}\nworkloads: [{pods: {cpu: 3}}]\n"
    (tmp_path / "s.yaml").write_text(text)
    found = state_of(str(tmp_path / "s.yaml"), NUMPY)
    assert sum(bool(each.node) for each in found.records) == 1
    assert planned(found, make_pod("late", cpu="3")).unfit == 1


def test_the_plan_names_the_victims() -> None:
    on = state(make_pod("low", cpu="4", priority=1))
    said = planned(on, make_pod("high", cpu="4", priority=9))
    assert [(each.pod, each.node) for each in said.placed] == [("default/high", "n")]
    assert [(each.pod, each.node) for each in said.victims] == [("default/low", "n")]


def test_a_copy_at_rest_reports_no_delays_of_its_own() -> None:
    copy = PlaneCopy(state(make_pod("p", cpu="64")), NUMPY)
    copy.settle()
    (unit,) = copy.plane.units
    unit.state, copy.plane.cluster.pods.state[0] = UnitState.BACKOFF, PodState.BACKOFF
    copy.drop_backoff()
    plane = copy.plane
    said = explain_pod(live_scene(plane.cluster, plane.config.profile, plane.units), "p")
    assert [each.code for each in said.reasons] == [ReasonCode.TOO_BIG]
    assert (said.state, unit.state) == ("unschedulable", UnitState.UNSCHEDULABLE)
