"""Pods with equal volume requests are placed together as they would be one by one."""

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import (
    CSI_NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    STORAGE_CLASS,
    Kind,
)
from stretto.framework.profile.profile import load_profile
from stretto.framework.volumes.stage import VolumeStage
from stretto.state.ingest.whole_objects import read_object
from stretto.state.objects import identity_of
from stretto.testing import Harness, make_node, make_pod

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
DRIVER = "csi.example.com"


def put(harness: Harness, kind: Kind, name: str, **fields: object) -> None:
    space = {"namespace": "default"} if kind.namespaced else {}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name} | space}
    harness.create(kind, msgspec.json.encode(body | fields))


ATTRIBUTES = ("", "", "gold")
"""VolumeAttributesClasses; most name none."""


def classes_and_limits(harness: Harness, rng: np.random.Generator) -> None:
    for name, made in (("local", "kubernetes.io/no-provisioner"), ("made", DRIVER)):
        mode = {"volumeBindingMode": "WaitForFirstConsumer"}
        put(harness, STORAGE_CLASS, name, provisioner=made, **mode)
    for node in range(3):
        drivers = [
            {"name": DRIVER, "nodeID": "x", "allocatable": {"count": int(rng.integers(1, 5))}}
        ]
        put(harness, CSI_NODE, f"n{node}", spec={"drivers": drivers})


def volume(harness: Harness, name: str, rng: np.random.Generator) -> None:
    key, value = [(HOST, f"n{rng.integers(5)}"), (ZONE, f"z{rng.integers(2)}")][rng.integers(2)]
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    spec = {
        "capacity": {"storage": f"{rng.integers(3, 9)}Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    source = source_of(name, ATTRIBUTES[rng.integers(3)])
    put(harness, PERSISTENT_VOLUME, name, spec=spec | source, status={"phase": "Available"})


def source_of(name: str, attributes: str) -> dict[str, object]:
    """Only volumes of CSI drivers may name a VolumeAttributesClass."""
    if not attributes:
        return {"local": {"path": f"/mnt/{name}"}}
    return {
        "csi": {"driver": DRIVER, "volumeHandle": name},
        "volumeAttributesClassName": attributes,
    }


def pods(harness: Harness, rng: np.random.Generator) -> list[bytes]:
    """Runs of pods of one template, some of two claims, some that share one."""
    made = []
    for run in range(3):
        of, size = ("local", "made")[rng.integers(2)], f"{rng.integers(1, 7)}Gi"
        many, attributes = int(rng.integers(1, 3)), ATTRIBUTES[rng.integers(3)]
        for i in range(int(rng.integers(2, 9))):
            names = [f"c{run}-{i}-{k}" for k in range(many)]
            spec = {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": of,
                "resources": {"requests": {"storage": size}},
                "volumeAttributesClassName": attributes,
            }
            for name in names:
                put(harness, PERSISTENT_VOLUME_CLAIM, name, spec=spec)
            if i and rng.random() < 0.1:
                names[0] = f"c{run}-{i - 1}-0"
            mounted = [{"persistentVolumeClaim": {"claimName": name}} for name in names]
            volumes = [{"name": f"v{k}", **each} for k, each in enumerate(mounted)]
            made.append(make_pod(f"p{run}-{i}", cpu=f"{1 + run % 2}", spec={"volumes": volumes}))
    return made


def settled(seed: int) -> Harness:
    """Everything submitted in one batch."""
    rng = np.random.default_rng(seed)
    nodes = [make_node(f"n{i}", cpu="6", zone=f"z{i % 2}") for i in range(5)]
    profile = load_profile({"profiles": [{"stretto": {"tieRule": "name"}}]})
    harness = Harness(nodes, profile=profile)
    classes_and_limits(harness, rng)
    for i in range(int(rng.integers(2, 14))):
        volume(harness, f"v{i}", rng)
    harness.submit(*pods(harness, rng))
    harness.settle()
    return harness


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_runs_get_the_places_and_volumes_of_pods_one_by_one(seed: int) -> None:
    together = VolumeStage._run_of_alike
    try:
        found = settled(seed)
        VolumeStage._run_of_alike = lambda *_: []  # type: ignore[method-assign]
        alone = settled(seed)
    finally:
        VolumeStage._run_of_alike = together  # type: ignore[method-assign]
    assert found.placements() == alone.placements()
    for kind in (PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM):
        mine, theirs = (
            {r.name: msgspec.json.decode(r.body).get("spec") for r in h.store.list(kind).records}
            for h in (found, alone)
        )
        assert mine == theirs
        for record in found.store.list(kind).records:
            read = read_object(kind, record)
            assert found.plane.cluster.objects.find(identity_of(read)) == read
    assert found.breaches() == []
    assert said(found) == said(alone)


def said(harness: Harness) -> dict[str, object]:
    records = harness.store.list(POD).records
    return {
        r.name: msgspec.json.decode(r.body).get("status", {}).get("conditions") for r in records
    }
