"""A cluster that tests feed with events, without a store."""

import json
from typing import Any

import msgspec
import numpy as np

from stretto.api.wire.kinds import NODE, POD, POD_GROUP, PRIORITY_CLASS, Kind
from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.config import ClusterConfig
from stretto.state.ingest.ingest import Ingest
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.snapshot import Columns
from stretto.stores.store import EventType, Record, WatchEvent
from stretto.testing import make_group, make_node, make_pod

ADDED, MODIFIED, DELETED = EventType.ADDED, EventType.MODIFIED, EventType.DELETED


def changed(body: bytes, **parts: Any) -> bytes:
    """An object's JSON with some top-level parts merged in."""
    whole = json.loads(body)
    for part, value in parts.items():
        whole[part] = {**whole.get(part, {}), **value}
    return json.dumps(whole).encode()


class ClusterFeed:
    """A cluster with methods that apply events; versions increase automatically."""

    def __init__(self, *nodes: bytes, config: ClusterConfig | None = None) -> None:
        self.cluster = Cluster(config)
        self.ingest = Ingest(self.cluster)
        self.version = 0
        for body in nodes:
            self.node(body)

    def record(self, kind: Kind, body: bytes, uid: str = "", **more: Any) -> Record:
        """A record of a body; its uid is its name unless one is given."""
        meta = json.loads(body)["metadata"]
        self.version += 1
        more = {"namespace": meta.get("namespace", ""), "version": self.version, **more}
        return Record(kind=kind, name=meta["name"], uid=uid or meta["name"], body=body, **more)

    def node(self, body: bytes, type_: EventType = ADDED, uid: str = "") -> None:
        self.ingest.nodes([WatchEvent(type_, self.record(NODE, body, uid))])

    def lose(self, name: str) -> None:
        self.node(make_node(name), DELETED)

    def pod(self, body: bytes, type_: EventType = ADDED, uid: str = "", **more: Any) -> WatchEvent:
        """Apply one pod event; a pod with a node in its body is bound."""
        node = json.loads(body)["spec"].get("nodeName", "")
        event = WatchEvent(type_, self.record(POD, body, uid, **{"node": node, **more}))
        self.ingest.pods([event], 0.0)
        return event

    def group(self, name: str, min_member: int = 1, type_: EventType = ADDED) -> None:
        self.ingest.groups(
            [WatchEvent(type_, self.record(POD_GROUP, make_group(name, min_member)))]
        )

    def priority(self, name: str, value: object, type_: EventType = ADDED) -> None:
        body = msgspec.json.encode({"metadata": {"name": name}, "value": value})
        self.ingest.priorities([WatchEvent(type_, self.record(PRIORITY_CLASS, body))])

    def assume(self, uid: str, node: str) -> None:
        """Charge and assume a pod, as the binder does."""
        row = self.row(uid)
        self.cluster.charges.charge(row, self.slot(node))
        self.cluster.pods.state[row] = PodState.ASSUMED

    def row(self, uid: str) -> int:
        found = self.cluster.pods.row(uid)
        assert found is not None
        return found

    def slot(self, node: str) -> int:
        return self.cluster.nodes.by_name[node]

    def state(self, uid: str) -> PodState | None:
        row = self.cluster.pods.row(uid)
        return None if row is None else PodState(int(self.cluster.pods.state[row]))

    def used(self, node: str, resource: str = "cpu") -> int:
        ledger = self.cluster.ledger
        return int(ledger.used[self.slot(node), ledger.resources.column(resource)])

    def class_of(self, body: bytes) -> int:
        """Add a pod and return its class."""
        self.pod(body, uid=f"uid-{self.version}")
        return int(self.cluster.pods.class_id[self.row(f"uid-{self.version - 1}")])


def same_columns(one: Columns, other: Columns) -> list[str]:
    """Names of the columns in which two snapshots differ."""
    names = (
        "free", "alloc", "percent", "live", "generation", "ports",
        "device_free", "device_kind", "device_model", "census",
    )  # fmt: skip
    return [name for name in names if not np.array_equal(getattr(one, name), getattr(other, name))]


def portrait(cluster: Cluster) -> dict[str, Any]:
    """A cluster without row, slot and class numbers: equal portraits mean equal clusters."""
    pods, nodes, ledger = cluster.pods, cluster.nodes, cluster.ledger
    shown: dict[str, Any] = {"abnormal": sorted(cluster.abnormal), "groups": sorted(cluster.groups)}
    for row in pods.rows().tolist():
        spec = cluster.classes[int(pods.class_id[row])]
        requested = {ledger.resources.names[column]: amount for column, amount in spec.requests}
        shown[f"pod {pods.uid[row]}"] = (
            pods.key(row), int(pods.priority[row]), PodState(int(pods.state[row])).name,
            cluster.node_of(row), requested, spec.ports, spec.devices,
        )  # fmt: skip
    for name, slot in nodes.by_name.items():
        amounts = {
            resource: (int(ledger.alloc[slot, c]), int(ledger.used[slot, c]))
            for c, resource in enumerate(ledger.resources.names)
            if c < ledger.alloc.shape[1] and (ledger.alloc[slot, c] or ledger.used[slot, c])
        }
        devices = sorted(ledger.devices.free[slot][ledger.devices.kind[slot] > 0].tolist())
        shown[f"node {name}"] = (nodes.uids[slot], nodes.zones[slot], amounts, devices)
    return shown


def pod_bodies(count: int, **more: Any) -> list[bytes]:
    """Equal pods."""
    return [make_pod(f"p{i}", **more) for i in range(count)]
