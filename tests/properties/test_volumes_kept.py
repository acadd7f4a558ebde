"""Volume tables and counts equal a new check of every node after any change."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.api.types.pod import Pod
from stretto.api.types.storage import (
    BIND_COMPLETED,
    SELECTED_NODE,
    CsiNode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import SUCCESS
from stretto.framework.plugins.parity.node_volume_limits import LimitCheck
from stretto.framework.volume_binder.pvcs import pvcs_of
from stretto.framework.volume_binder.volumes import VolumeBinder

CLASSES = ("local", "made")
SIZES = ("1Gi", "5Gi", "9Gi")
NODES = 5
ATTACHED = VolumeAttachment


def read(kind: Any, name: str, namespaced: bool = False, **fields: Any) -> Any:
    meta = {"name": name, **({"namespace": "d"} if namespaced else {}), **fields.pop("meta", {})}
    return decode_as(kind, msgspec.json.encode({"metadata": meta, **fields}), "object")


def node(i: int, zone: int) -> Node:
    made: Node = read(Node, f"n{i}", meta={"labels": {"zone": f"z{zone}"}})
    return made


def pod(i: int, claims: list[int]) -> Pod:
    volumes = [{"name": f"v{c}", "persistentVolumeClaim": {"claimName": f"c{c}"}} for c in claims]
    made: Pod = read(Pod, f"p{i}", True, spec={"containers": [], "volumes": volumes})
    return made


def claim(i: int, of: int, size: int, extra: int) -> PersistentVolumeClaim:
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": CLASSES[of],
        "resources": {"requests": {"storage": SIZES[size]}},
    }
    notes = {}
    if extra == 1:
        spec["volumeName"], notes = f"v{i}", {BIND_COMPLETED: "yes"}
    elif extra == 2:
        notes = {SELECTED_NODE: f"n{i % NODES}"}
    elif extra == 3:
        spec["selector"] = {"matchLabels": {"fast": "yes"}}
    made: PersistentVolumeClaim = read(
        PersistentVolumeClaim, f"c{i}", True, meta={"annotations": notes}, spec=spec
    )
    return made


def volume(i: int, size: int, zone: int, extra: int) -> PersistentVolume:
    spec: dict[str, Any] = {
        "capacity": {"storage": SIZES[size]},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "csi": {"driver": "csi", "volumeHandle": f"h{i}"},
    }
    if zone < 3:
        term = {"key": "zone", "operator": "In", "values": [f"z{zone}"]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}
    if extra == 1:
        spec["claimRef"] = {"namespace": "d", "name": f"c{i}"}
    labels = {"fast": "yes"} if extra == 2 else {}
    status = {"phase": "Available" if extra != 3 else "Released"}
    made: PersistentVolume = read(
        PersistentVolume, f"v{i}", meta={"labels": labels}, spec=spec, status=status
    )
    return made


few = st.integers(0, 3)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("node"), st.integers(0, NODES - 1), few, few, few),
        st.tuples(st.just("claim"), st.integers(0, 4), st.integers(0, 1), st.integers(0, 2), few),
        st.tuples(st.just("volume"), st.integers(0, 5), st.integers(0, 2), few, few),
        st.tuples(st.just("limit"), st.integers(0, NODES - 1), few, few, few),
        st.tuples(st.just("attach"), few, st.integers(0, NODES - 1), few, few),
        st.tuples(st.just("pod"), few, st.integers(0, NODES - 1), st.integers(0, 4), few),
        st.tuples(st.just("drop"), st.integers(0, 5), few, few, few),
    ),
    min_size=4,
    max_size=24,
)


def act(at: ParitySnapshot, step: tuple[str, int, int, int, int]) -> None:
    what, i, a, b, c = step
    known = list(at.nodes.names)
    if what == "node":
        at.put_nodes([node(i, a)])
    elif what == "claim":
        at.objects.put(claim(i, a, b, c))
    elif what == "volume":
        at.objects.put(volume(i, a, b, c))
    elif what == "limit":
        drivers = [{"name": "csi", "nodeID": "x", "allocatable": {"count": a}}] if b else []
        at.objects.put(read(CsiNode, f"n{i}", spec={"drivers": drivers}))
    elif what == "attach":
        source = {"persistentVolumeName": f"v{b}"}
        spec = {"attacher": "csi", "nodeName": f"n{a}", "source": source}
        at.objects.put(read(ATTACHED, f"a{i}", spec=spec))
    elif what == "pod" and f"n{a}" in known:
        mine = pod(i, [b, (b + c) % 5][: 1 + (c > 0)])
        at.add_pod(
            msgspec.structs.replace(
                mine, spec=msgspec.structs.replace(mine.spec, node_name=f"n{a}")
            )
        )
    elif what == "drop":
        kind = PersistentVolume if a else ATTACHED
        at.objects.drop((kind.__name__, "", f"{'v' if a else 'a'}{i}"))


@settings(max_examples=35)
@given(done=steps, requested=st.lists(st.integers(0, 4), unique=True, min_size=1, max_size=3))
def test_answers_equal_those_of_every_node_alone(
    done: list[tuple[str, int, int, int, int]], requested: list[int]
) -> None:
    at = ParitySnapshot([node(0, 0), node(1, 1)])
    at.objects.put(
        read(
            StorageClass,
            "local",
            provisioner="kubernetes.io/no-provisioner",
            volumeBindingMode="WaitForFirstConsumer",
        )
    )
    at.objects.put(
        read(StorageClass, "made", provisioner="csi", volumeBindingMode="WaitForFirstConsumer")
    )
    for c in requested:
        at.objects.put(claim(c, 0, 0, 0))
    facts = at.compiler.facts(pod(9, requested))
    for step in done:
        act(at, step)
        check = LimitCheck(facts, at)
        said = check.verdict()
        for n in range(at.nodes.count):
            reported = SUCCESS if said is None else said.status(n)
            assert reported == check.judge(n, at.pods_on[n])
        claims = pvcs_of(facts, at.objects)
        if claims.immediate:
            continue
        binder = VolumeBinder(claims, at)
        fresh = VolumeBinder(
            claims, ParitySnapshot(at.nodes.objects, (), at.objects.everything().values())
        )
        answers, numbers = binder.answers()
        for n in range(at.nodes.count):
            alone, kept = binder.find(n), answers[numbers[n]]
            assert (kept.reasons, kept.error) == (alone.reasons, alone.error)
            assert alone == fresh.find(n)
