"""Pods with volumes on the fast path: a whole plane over the memory store, in CPU seconds.

    python bench/volumes.py [NODES] [PODS] [KIND]

Every pod names one claim of its own whose class waits for its first consumer. ``made``: the volume
is made where the pod goes; ``local``: one is taken from those that a few nodes reach; ``limits``:
made, and every node takes so many of the driver's. Claims, volumes and pods exist before the clock
starts; it stops when all pods are bound in the store.
"""

import sys
import time
from typing import Any

import msgspec

from stretto.api.kinds import (
    CSI_NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    STORAGE_CLASS,
    Kind,
)
from stretto.testing import Harness, make_node, make_pod

WAIT = "WaitForFirstConsumer"
DRIVER = "csi.example.com"
ZONE = "topology.kubernetes.io/zone"


def put(harness: Harness, kind: Kind, *objects: dict[str, Any]) -> None:
    """Create objects of one kind."""
    typed = ({"apiVersion": kind.api_version, "kind": kind.kind, **each} for each in objects)
    harness.create(kind, *map(msgspec.json.encode, typed))


def site(nodes: int, kind: str) -> Harness:
    """A fleet in ten zones with one storage class."""
    harness = Harness([make_node(f"n{i}", cpu="64", zone=f"z{i % 10}") for i in range(nodes)])
    made = "kubernetes.io/no-provisioner" if kind == "local" else DRIVER
    fields = {"provisioner": made, "volumeBindingMode": WAIT}
    put(harness, STORAGE_CLASS, {"metadata": {"name": "disk"}, **fields})
    if kind == "limits":
        drivers = [{"name": DRIVER, "nodeID": "x", "allocatable": {"count": 16}}]
        put(
            harness,
            CSI_NODE,
            *({"metadata": {"name": f"n{i}"}, "spec": {"drivers": drivers}} for i in range(nodes)),
        )
    return harness


def submit(harness: Harness, pods: int, kind: str, batch: str) -> None:
    """Pods with a claim each, and volumes for them where none is made."""
    asked = {"requests": {"storage": "5Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "disk", "resources": asked}
    names = [f"{batch}{i}" for i in range(pods)]
    metas = [{"name": name, "namespace": "default"} for name in names]
    put(harness, PERSISTENT_VOLUME_CLAIM, *({"metadata": m, "spec": spec} for m in metas))
    if kind == "local":
        put(harness, PERSISTENT_VOLUME, *(_volume(name, i) for i, name in enumerate(names)))
    harness.submit(*(_pod(name) for name in names))


def _volume(name: str, number: int) -> dict[str, Any]:
    term = {"key": ZONE, "operator": "In", "values": [f"z{number % 10}"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
    spec = {
        "capacity": {"storage": "5Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "disk",
        "nodeAffinity": {"required": required},
    }
    return {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Available"}}


def _pod(name: str) -> bytes:
    claim = {"name": "v", "persistentVolumeClaim": {"claimName": name}}
    return make_pod(name, spec={"volumes": [claim]})


def measure(nodes: int, pods: int, kind: str) -> tuple[float, int]:
    """CPU seconds for the second batch of pods, and how many of them were bound."""
    harness = site(nodes, kind)
    submit(harness, 100, kind, "first")
    harness.settle()
    submit(harness, pods, kind, "then")
    start = time.process_time()
    harness.plane.run_until_idle()
    took = time.process_time() - start
    bound = sum(1 for r in harness.store.list(POD).records if r.node and r.name[0] == "t")
    return took, bound


if __name__ == "__main__":
    words = sys.argv[1:]
    count, many = int(words[0]) if words else 20_000, int(words[1]) if len(words) > 1 else 2_000
    for sort in words[2:] or ["made", "limits", "local"]:
        seconds, placed = measure(count, many, sort)
        print(f"{sort}: {placed:,} of {many:,} pods, {placed / seconds:,.0f} a second of CPU")
