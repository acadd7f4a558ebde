"""A running pod is read the same way with and without a decoded head.

Embedded stores list running pods without decoding their bodies, because many pods share one. Every
field that scheduling reads must count all the same: the table has an example for each field.
"""

import json
from typing import Any

import msgspec
import pytest

from stretto.api.types.heads import (
    ContainerHead,
    MetaHead,
    PodHead,
    PodSpecHead,
    PodStatusHead,
    decode_pod_head,
)
from stretto.api.wire.kinds import POD
from stretto.stores.store import WatchEvent
from stretto.testing import make_node
from tests.support.hand_fed_cluster import ADDED, ClusterFeed, portrait

NOTES = {
    "godel.bytedance.com/can-be-preempted": "true",
    "stretto.dev/protect-seconds": "60",
    "stretto.dev/queue": "q",
    "godel.bytedance.com/pod-group-name": "g",
}
TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
NEAR = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}
SPREAD = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **TERM}
CPU = {"requests": {"cpu": "3"}}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "o", "uid": "o", "controller": True}
CLAIM = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
EXAMPLES: dict[str, dict[str, Any]] = {
    "metadata.name": {"metadata": {"name": "other"}},
    "metadata.generateName": {"metadata": {"generateName": "p-"}},
    "metadata.namespace": {"metadata": {"namespace": "team"}},
    "metadata.uid": {"metadata": {"uid": "u"}},
    "metadata.resourceVersion": {"metadata": {"resourceVersion": "7"}},
    "metadata.labels": {"metadata": {"labels": {"a": "b"}}},
    "metadata.annotations": {"metadata": {"annotations": NOTES}},
    "metadata.ownerReferences": {"metadata": {"ownerReferences": [OWNER]}},
    "metadata.creationTimestamp": {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}},
    "metadata.deletionTimestamp": {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}},
    "spec.nodeName": {"spec": {"nodeName": "m"}},
    "spec.schedulerName": {"spec": {"schedulerName": "other"}},
    "spec.priority": {"spec": {"priority": 7}},
    "spec.priorityClassName": {"spec": {"priorityClassName": "gold"}},
    "spec.preemptionPolicy": {"spec": {"preemptionPolicy": "Never"}},
    "spec.nodeSelector": {"spec": {"nodeSelector": {"disk": "ssd"}}},
    "spec.affinity": {"spec": {"affinity": NEAR}},
    "spec.tolerations": {"spec": {"tolerations": [{"operator": "Exists"}]}},
    "spec.topologySpreadConstraints": {"spec": {"topologySpreadConstraints": [SPREAD]}},
    "spec.containers": {"spec": {"containers": [{"name": "c", "resources": CPU}]}},
    "spec.containers.resources": {"spec": {"containers": [{"name": "c", "resources": CPU}]}},
    "spec.containers.ports": {
        "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 1, "hostPort": 80}]}]}
    },
    "spec.containers.image": {"spec": {"containers": [{"name": "c", "image": "i:1"}]}},
    "spec.containers.restartPolicy": {
        "spec": {"initContainers": [{"name": "i", "restartPolicy": "Always", "resources": CPU}]}
    },
    "spec.initContainers": {"spec": {"initContainers": [{"name": "i", "resources": CPU}]}},
    "spec.overhead": {"spec": {"overhead": {"cpu": "250m"}}},
    "spec.resources": {"spec": {"resources": CPU}},
    "spec.schedulingGates": {"spec": {"schedulingGates": [{"name": "a/b"}]}},
    "spec.volumes": {"spec": {"volumes": [CLAIM]}},
    "spec.schedulingGroup": {"spec": {"schedulingGroup": {"podGroupName": "g"}}},
    "spec.resourceClaims": {"spec": {"resourceClaims": [{"name": "r"}]}},
    "spec.hostNetwork": {"spec": {"hostNetwork": True}},
    "status.phase": {"status": {"phase": "Succeeded"}},
    "status.nominatedNodeName": {"status": {"nominatedNodeName": "m"}},
    "status.startTime": {"status": {"startTime": "1970-01-02T00:00:00Z"}},
}
"""A pod for each field of a head, by the field's path."""


def paths() -> set[str]:
    """The path of every field of a head."""
    parts = {"metadata": MetaHead, "spec": PodSpecHead, "status": PodStatusHead}
    assert {field.name for field in msgspec.structs.fields(PodHead)} == parts.keys()
    found = {
        f"{part}.{field.encode_name}"
        for part, struct in parts.items()
        for field in msgspec.structs.fields(struct)
    }
    inner = msgspec.structs.fields(ContainerHead)
    return found | {f"spec.containers.{field.encode_name}" for field in inner}


def body_of(parts: dict[str, Any]) -> bytes:
    meta = {"name": "p", "namespace": "default", **parts.get("metadata", {})}
    spec = {"nodeName": "n", "containers": [{"name": "c"}], **parts.get("spec", {})}
    return json.dumps({"metadata": meta, "spec": spec, "status": parts.get("status", {})}).encode()


def read(body: bytes, *, decoded: bool, times: int = 2) -> tuple[Any, ...]:
    """The state of some equal pods, read with or without their head."""
    feed = ClusterFeed(make_node("n", cpu="64"), make_node("m", cpu="64"))
    feed.priority("gold", 1000)
    whole = json.loads(body)
    deleting = bool(whole["metadata"].get("deletionTimestamp"))
    events = []
    for i in range(times):
        more = {"node": whole["spec"]["nodeName"], "deleting": deleting}
        record = feed.record(POD, body, f"u{i}", **more)
        head = decode_pod_head(body) if decoded else None
        events.append(WatchEvent(ADDED, record, head))
    feed.ingest.pods(events, 5.0)
    pods, cluster = feed.cluster.pods, feed.cluster
    rows = pods.rows()
    table = cluster.preemption_attributes
    attributes = [table[n] for n in pods.preemption_attributes[rows].tolist()]
    columns = (pods.started, pods.priority, pods.eviction_state, pods.volumes, pods.state)
    arrivals = [(each.uid, each.gated) for each in cluster.changes.arrivals]
    return portrait(cluster), attributes, [each[rows].tolist() for each in columns], arrivals


def test_the_table_has_every_field() -> None:
    assert EXAMPLES.keys() == paths()


@pytest.mark.parametrize("times", [1, 2, 40])
@pytest.mark.parametrize("field", sorted(EXAMPLES))
def test_a_running_pod_is_the_same_with_and_without_a_decoded_head(field: str, times: int) -> None:
    body = body_of(EXAMPLES[field])
    assert read(body, decoded=False, times=times) == read(body, decoded=True, times=times)


def test_the_start_time_of_a_pod_that_is_found_running_counts() -> None:
    body = body_of(EXAMPLES["status.startTime"])
    started = read(body, decoded=False)[2][0]
    assert started == [86_400.0 - ClusterFeed().cluster.wall_offset] * 2
