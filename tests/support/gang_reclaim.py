"""A full cluster of borrowed pods, and gangs with rules that reclaim half of it."""

import json
from collections.abc import Callable
from typing import Any

from stretto.api.wire.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, POD_GROUP, Kind
from stretto.testing import make_group, make_node
from tests.support.recreating_harness import RecreatingHarness, queue_object, queue_pod

HOST = "kubernetes.io/hostname"
GRACE = 5.0
SELECTOR = {"matchLabels": {"job": "g"}}


def full_cluster(**more: Any) -> RecreatingHarness:
    """Two racks with two nodes each, full of pods that queue ``b`` has borrowed.

    ``more`` are arguments of ``Harness``.
    """
    fleet = [
        make_node(f"{rack}{i}", cpu="4", memory="64Gi", labels={"rack": rack})
        for rack in "rs"
        for i in range(2)
    ]
    harness = RecreatingHarness(
        fleet, queue_object("a", guarantee={"cpu": "8"}), queue_object("b"), grace=GRACE, **more
    )
    harness.work("b", lambda name: queue_pod(name, "b"), 16)
    harness.run(3)
    return harness


def plain(_: RecreatingHarness, name: str) -> bytes:
    return queue_pod(name, "a", "2", group="g")


def apart(_: RecreatingHarness, name: str) -> bytes:
    rules = [{"labelSelector": SELECTOR, "topologyKey": HOST}]
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": rules}}
    return queue_pod(name, "a", "2", group="g", labels={"job": "g"}, spec={"affinity": anti})


def spread(_: RecreatingHarness, name: str) -> bytes:
    rule = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule"}
    spec = {"topologySpreadConstraints": [{**rule, "labelSelector": SELECTOR}]}
    return queue_pod(name, "a", "2", group="g", labels={"job": "g"}, spec=spec)


def with_volume(harness: RecreatingHarness, name: str) -> bytes:
    """A pod whose volume is on one node, another one for each pod."""
    node = ("r0", "r1", "s0", "s1")[int(name.split("-")[1])]

    def put(kind: Kind, spec: dict[str, Any], status: str, **meta: Any) -> None:
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
        named = {"name": f"disk-{node}", **meta}
        phase = {"phase": status}
        harness.create(kind, json.dumps({**body, "metadata": named, "status": phase}).encode())

    common = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local"}
    terms = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": [node]}]}]
    where = {"required": {"nodeSelectorTerms": terms}}
    size = {"storage": "1Gi"}
    claimed = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": f"disk-{node}"}
    disk = {"capacity": size, "local": {"path": "/mnt/disk"}}
    volume = {**common, **disk, "nodeAffinity": where, "claimRef": claimed}
    put(PERSISTENT_VOLUME, volume, "Bound")
    request = {**common, "resources": {"requests": size}, "volumeName": f"disk-{node}"}
    bound = {"pv.kubernetes.io/bind-completed": "yes"}
    put(PERSISTENT_VOLUME_CLAIM, request, "Bound", namespace="default", annotations=bound)
    volumes = [{"name": "disk", "persistentVolumeClaim": {"claimName": f"disk-{node}"}}]
    return queue_pod(name, "a", "2", group="g", spec={"volumes": volumes})


RACK = {"affinity": {"podGroupAffinity": {"required": [{"topologyKey": "rack"}]}}}
#: The pods of the gang, the spec of its PodGroup, and its annotations.
Rule = tuple[Callable[[RecreatingHarness, str], bytes], dict[str, Any], dict[str, str]]
RULES: dict[str, Rule] = {
    "no rule": (plain, {}, {}),
    "required rack": (plain, RACK, {}),
    "host anti-affinity": (apart, {}, {}),
    "spread": (spread, {}, {}),
    "domain cap": (plain, {}, {"stretto.dev/domain-caps": f"{HOST}=1"}),
    "volumes": (with_volume, {}, {}),
    "rack and cap": (plain, RACK, {"stretto.dev/domain-caps": f"{HOST}=2"}),
}


def submit_gang(harness: RecreatingHarness, rule: str) -> None:
    """A gang of four that needs half of the cluster, which its queue is guaranteed."""
    make, spec, annotations = RULES[rule]
    group = json.loads(make_group("g", 4, **spec))
    group["metadata"]["annotations"] = annotations
    harness.create(POD_GROUP, json.dumps(group).encode())
    harness.work("g", lambda name: make(harness, name), 4)
