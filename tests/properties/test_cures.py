"""Every cure that an explanation suggests places the pod or its gang when it is applied.

The cures of random pending pods and gangs are applied to a copy of the cluster. On the copy without
running pods, a pod that never fits stays pending, and a pod on full nodes is placed.
"""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.explain.why.answers import Explanation
from stretto.explain.why.remedies.remedy import CureKind
from stretto.explain.words.reasons import ReasonCode, ReasonTier
from stretto.testing import make_group, make_node, make_pod, make_report, numa_notes
from tests.support.cure_world import CureWorld
from tests.support.explained import explained
from tests.support.recreating_harness import queue_object

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
TAINTS = (
    {"key": "team", "value": "a", "effect": "NoSchedule"},
    {"key": "gpu", "effect": "NoExecute"},
)
EXCLUDED = (ReasonTier.NEVER_FITS, ReasonTier.NOT_ALLOWED)


def rarely(draw: Any, odds: int) -> bool:
    return bool(draw(st.integers(1, odds)) == 1)


def node(draw: Any, name: str) -> bytes:
    options: dict[str, Any] = {
        "cpu": draw(st.sampled_from(["2", "4", "8"])),
        "gpus": draw(st.sampled_from([0, 0, 1, 2])),
        "model": draw(st.sampled_from(["T4", "A100"])),
        "zone": draw(st.sampled_from("abc")),
        "labels": {"pool": draw(st.sampled_from("xy"))},
        "taints": draw(st.sampled_from([[], [], [], [TAINTS[0]], [TAINTS[1]], list(TAINTS)])),
        "unschedulable": rarely(draw, 12),
    }
    return make_node(name, **options)


def between(draw: Any) -> dict[str, Any]:
    """Rules between pods, for one pod."""
    kind = draw(st.sampled_from(["", "", "spread", "podAntiAffinity", "podAffinity"]))
    key = draw(st.sampled_from([ZONE, HOST]))
    selector = {"matchLabels": {"app": "w"}}
    if kind == "spread":
        more = {"whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
        return {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": key, **more}]}
    if not kind:
        return {}
    term = {"topologyKey": key, "labelSelector": selector}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def pod(draw: Any, name: str, *, cpu: tuple[str, ...], **more: Any) -> bytes:
    options: dict[str, Any] = {
        "cpu": draw(st.sampled_from(cpu)),
        "gpus": draw(st.sampled_from([0, 0, 1, 2])),
        "labels": draw(st.sampled_from([{}, {"app": "w"}])),
        "ports": (80,) if rarely(draw, 5) else (),
        **more,
    }
    return make_pod(name, **options)


def stated(draw: Any) -> dict[str, Any]:
    """Constraints of a pending pod on nodes and pods."""
    spec = between(draw)
    if rarely(draw, 4):
        spec["nodeSelector"] = {"pool": draw(st.sampled_from("xyz"))}
    if rarely(draw, 4):
        spec["tolerations"] = [{"key": "team", "operator": "Exists"}]
    if rarely(draw, 10):
        spec["schedulingGates"] = [{"name": "example.com/gate"}]
    return spec


def named(*bodies: bytes) -> dict[str, Any]:
    found = [json.loads(body) for body in bodies]
    return {body["metadata"]["name"]: body for body in found}


@st.composite
def clusters(draw: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Nodes, and pods that run on them, mostly within their capacity."""
    nodes = named(*[node(draw, f"n{i}") for i in range(draw(st.integers(1, 4)))])
    running: dict[str, Any] = {}
    amounts = {name: each["status"]["allocatable"] for name, each in nodes.items()}
    free = {name: int(each.get("nvidia.com/gpu", 0)) for name, each in amounts.items()}
    for number in range(draw(st.integers(0, 5))):
        where = draw(st.sampled_from(sorted(nodes)))
        spec = between(draw) if rarely(draw, 3) else {}
        cpu = ("500m", "1", "2", "4")
        more = {"node": where, "spec": spec, "gpus": 0}
        if free[where] and rarely(draw, 2):
            more["gpus"], free[where] = 1, free[where] - 1
        running |= named(pod(draw, f"r{number}", cpu=cpu, **more))
    return nodes, running


@st.composite
def worlds_with_a_pod(draw: Any) -> CureWorld:
    nodes, running = draw(clusters())
    more: dict[str, Any] = {"spec": stated(draw)}
    if rarely(draw, 5):
        more |= {"gpus": 1, "gpu_models": draw(st.sampled_from(["T4", "A100"]))}
    elif rarely(draw, 6):
        more |= {"gpus": 1, "gpu_milli": draw(st.sampled_from([300, 700]))}
    body = pod(draw, "p", cpu=("1", "3", "6", "16"), **more)
    profile = draw(st.sampled_from(["default", "default", "kube-parity"]))
    return CureWorld(nodes, running, named(body), profile=profile)


@st.composite
def worlds_with_a_gang(draw: Any) -> CureWorld:
    nodes, running = draw(clusters())
    spec = stated(draw)
    sizes = draw(st.sampled_from([("1",), ("2",), ("3",), ("1", "4"), ("6",)]))
    count, notes = draw(st.integers(2, 4)), {}
    queue = None
    if rarely(draw, 3):
        limit = {"cpu": draw(st.sampled_from(["2", "4", "8"]))}
        queue = queue_with(limit)
        notes["stretto.dev/queue"] = "q"
    more = {"spec": spec, "group": "g", "annotations": notes, "labels": {"app": "w"}}
    gpus = draw(st.sampled_from([0, 0, 1]))
    members = [pod(draw, f"g{i}", cpu=sizes, gpus=gpus, **more) for i in range(count)]
    bodies = named(*members)
    for name in draw(st.sets(st.sampled_from(sorted(bodies)))):
        bodies[name]["spec"].pop("schedulingGates", None)
    least = draw(st.integers(2, count + (1 if rarely(draw, 4) else 0)))
    required = {"podGroupAffinity": {"required": [{"topologyKey": ZONE}]}}
    group = json.loads(
        make_group("g", least, **({"affinity": required} if rarely(draw, 4) else {}))
    )
    return CureWorld(nodes, running, bodies, group=group, queue=queue)


@st.composite
def worlds_with_a_gang_on_full_nodes(draw: Any) -> CureWorld:
    """A gang with rules between its pods, on NUMA nodes, or under kube-scheduler's own rules."""
    profile = draw(st.sampled_from(["default", "kube-parity"]))
    numa = profile == "default" and rarely(draw, 3)
    notes = numa_notes() if numa else {}
    count, numas = draw(st.integers(2, 4)), [{"cpu": "2", "memory": "8Gi"}] * 2
    nodes = [make_node(f"n{i}", cpu="4", zone="ab"[i % 2]) for i in range(count)]
    reports = [json.loads(make_report(f"n{i}", numas)) for i in range(count if numa else 0)]
    running = [
        pod(
            draw,
            f"r{i}",
            cpu=("1", "2"),
            gpus=0,
            node=f"n{i % count}",
            annotations=notes,
            spec=between(draw) if rarely(draw, 4) else {},
            ports=(),
        )
        for i in range(draw(st.integers(count, 2 * count)))
    ]
    more = {"spec": between(draw), "group": "g", "labels": {"app": "w"}, "annotations": notes}
    size, members = draw(st.sampled_from(["1", "2"] if numa else ["1", "2", "3"])), range(2, 4)
    gang = [make_pod(f"g{i}", cpu=size, **more) for i in range(draw(st.sampled_from(members)))]
    group = json.loads(make_group("g", len(gang)))
    return CureWorld(
        nodes=named(*nodes),
        running=named(*running),
        pending=named(*gang),
        reports=reports,
        group=group,
        profile=profile,
    )


def queue_with(limit: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(queue_object("q", limit=limit))
    return found


@st.composite
def worlds_with_numa_nodes(draw: Any) -> CureWorld:
    """A pod that is bound to a NUMA node or a socket, on machines that others use."""
    nodes = named(make_node("n0", cpu="16", memory="64Gi", gpus=4), make_node("n1", cpu="16"))
    numas = [{"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}] * 4
    report = json.loads(make_report("n0", numas, sockets=2, gpus=[(i,) for i in range(4)]))
    socket = {"katalyst.kubewharf.io/cpu_enhancement": '{"align_by_socket": "true"}'}
    notes = numa_notes(**(socket if rarely(draw, 2) else {}))
    running = [
        pod(draw, f"r{i}", cpu=("2", "4"), annotations=numa_notes(), node="n0", gpus=0, ports=())
        for i in range(draw(st.integers(0, 4)))
    ]
    body = pod(draw, "p", cpu=("1", "3", "6", "9"), annotations=notes)
    return CureWorld(nodes, named(*running), named(body), reports=[report])


def check(world: CureWorld) -> None:
    """All laws about the explanation of one world."""
    harness = world.harness()
    if world.is_placed(harness):
        return
    pending = next(name for name in world.pending if not harness.node_of(name))
    said = explained(harness, pending)
    sets = [[each] for each in said.cures if each.alone and each.kind is not CureKind.EVENT]
    joint = [each for each in said.cures if not each.alone]
    for cures in [*sets, *([joint] if joint else [])]:
        cured = world.cured(*cures)
        assert cured.is_placed(cured.harness()), [each.sentence for each in cures]
    check_reason(world, said)


def check_reason(world: CureWorld, said: Explanation) -> None:
    """Return the dominant reason for the emptied cluster."""
    assert said.dominant is not None
    if said.dominant.tier in EXCLUDED:
        assert CureKind.CAPACITY not in {each.kind for each in said.cures if each.alone}
        empty = world.emptied()
        assert not empty.is_placed(empty.harness()), said.dominant.sentence
    affinity = any(
        "podAffinity" in each["spec"].get("affinity", {}) for each in world.pending.values()
    )
    if said.dominant.code is ReasonCode.NO_CAPACITY and not affinity and world.group is None:
        empty = world.emptied()
        assert empty.is_placed(empty.harness()), said.dominant.sentence


@given(worlds_with_a_pod())
@settings(max_examples=20)
def test_each_cure_of_a_pod_places_it(world: CureWorld) -> None:
    check(world)


@given(worlds_with_a_gang())
@settings(max_examples=25)
def test_each_cure_of_a_gang_places_the_whole_gang(world: CureWorld) -> None:
    check(world)


@given(worlds_with_a_gang_on_full_nodes())
@settings(max_examples=15)
def test_pods_whose_removal_starts_a_gang_are_enough(world: CureWorld) -> None:
    check(world)


@given(worlds_with_numa_nodes())
@settings(max_examples=10)
def test_each_cure_of_a_pod_on_numa_nodes_places_it(world: CureWorld) -> None:
    check(world)
