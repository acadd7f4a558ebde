"""A volume that holds a pod to some nodes is named with the labels that it needs."""

from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, Kind
from stretto.explain.words.reasons import ReasonCode
from stretto.testing import Harness, make_node, make_pod
from tests.support.explained import dominant

ZONE = "topology.kubernetes.io/zone"


def put(harness: Harness, kind: Kind, name: str, **fields: Any) -> None:
    notes = {"pv.kubernetes.io/bind-completed": "yes"}
    meta = {"name": name, "annotations": notes}
    if kind.namespaced:
        meta["namespace"] = "default"
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **fields}
    harness.create(kind, msgspec.json.encode(body))


def with_disk_in_zone_a(profile: str) -> Harness:
    nodes = [make_node("a0", zone="a"), make_node("b0", zone="b")]
    harness = Harness(nodes, profile=profile, config={"tier": "numpy"})
    rule = {"key": ZONE, "operator": "In", "values": ["a"]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "z",
        "csi": {"driver": "ebs", "volumeHandle": "h"},
        "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}},
    }
    put(harness, PERSISTENT_VOLUME, "disk", spec=spec, status={"phase": "Bound"})
    requested = {"resources": {"requests": {"storage": "1Gi"}}, "volumeName": "disk"}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "z", **requested}
    put(harness, PERSISTENT_VOLUME_CLAIM, "data", spec=spec, status={"phase": "Bound"})
    return harness


def volume(**more: Any) -> dict[str, Any]:
    claim = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    return {"volumes": [claim], **more}


@pytest.mark.parametrize("profile", ["default", "kube-parity"])
def test_a_selector_for_another_zone_than_the_volume_names_the_volume(profile: str) -> None:
    harness = with_disk_in_zone_a(profile)
    harness.submit(make_pod("p", spec=volume(nodeSelector={ZONE: "b"})))
    harness.settle(5)
    why = dominant(harness, "p")
    assert why.code is ReasonCode.VOLUMES
    assert why.sentence.endswith(f"volume disk of PVC data needs a node with {ZONE}=a.")


@pytest.mark.parametrize("profile", ["default", "kube-parity"])
def test_a_volume_and_a_spread_that_exclude_a_node_each_are_both_named(profile: str) -> None:
    harness = with_disk_in_zone_a(profile)
    labels = {"app": "w"}
    rule = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    harness.submit(make_pod("first", labels=labels, node="a0"))
    harness.settle(2)
    spec = volume(topologySpreadConstraints=[rule])
    harness.submit(make_pod("p", labels=labels, spec=spec))
    harness.settle(5)
    sentence = dominant(harness, "p").sentence
    assert "volume disk of PVC data" in sentence
    assert "topology spread over" in sentence
    assert "full" not in sentence
