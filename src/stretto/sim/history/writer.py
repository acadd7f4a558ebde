"""The store of a replay: applies recorded changes and drains, and collects refusals."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from stretto.api.kinds.table import entry_of
from stretto.api.wire.kinds import NODE, POD, Kind
from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.inputs.objects.recordings import ChangeType, RecordedChange
from stretto.sim.history.histories import PodHistory
from stretto.sim.history.what_if import NodeDrain
from stretto.sim.writes import parts_by_kind
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Deletion, EventType, Patch, Replies, Update, Watch, WriteOutcome


class HistoryWriter:
    """Writes the objects of a history to a memory store."""

    def __init__(self, clock: Clock, rng: Rng) -> None:
        """Create an empty store."""
        #: The store.
        self.store = MemoryStore(clock, rng)
        #: Reasons of refused writes, in order.
        self.refusals: list[str] = []
        self._drained: set[str] = set()

    def create(self, objects: Iterable[tuple[Kind, dict[str, Any]]]) -> None:
        """Create objects by kind, in the order of first occurrence."""
        encoded = ((kind, msgspec.json.encode(body)) for kind, body in objects)
        for kind, part in parts_by_kind(encoded):
            self._check(self.store.create(kind, part))

    def create_pods(self, pods: Sequence[PodHistory]) -> None:
        """Create pods; pods that were created with a node are bound to it."""
        self.create((POD, on_node(pod) if pod.fixed else pod.body) for pod in pods)

    def delete_pod(self, pod: PodHistory) -> None:
        """Delete a pod."""
        self._check(self.store.delete(POD, [Deletion(pod.namespace, pod.name)]))

    def apply(self, change: RecordedChange) -> None:
        """Apply a change of an object other than a pod."""
        found = self.store.get(change.kind, change.namespace, change.name)
        if change.type is ChangeType.DELETED:
            self._check(self.store.delete(change.kind, [Deletion(change.namespace, change.name)]))
        elif found is None:
            self.create([(change.kind, change.body)])
        else:
            self._replace(change)
            self._write_status(change, msgspec.json.decode(found.body).get("status") or {})

    def drain(self, drain: NodeDrain) -> None:
        """Cordon nodes and delete their pods, except those of DaemonSets."""
        for record in self.store.list(NODE).records:
            body = msgspec.json.decode(record.body)
            if drain.touches(body):
                self._drained.add(record.name)
                self._put_node(record.name, body)
        deletions = [
            Deletion(record.namespace, record.name)
            for record in self.store.list(POD).records
            if record.node in self._drained and not _is_daemon(record.body)
        ]
        if deletions:
            self._check(self.store.delete(POD, deletions))

    def _put_node(self, name: str, body: dict[str, Any]) -> None:
        """Update a node; a drained node stays cordoned."""
        if name in self._drained:
            body = {**body, "spec": {**(body.get("spec") or {}), "unschedulable": True}}
        self._check(self.store.update(NODE, [Update("", name, msgspec.json.encode(body))]))

    def _replace(self, change: RecordedChange) -> None:
        """Update an object, except its status."""
        if change.kind is NODE:
            self._put_node(change.name, change.body)
        else:
            body = msgspec.json.encode(change.body)
            update = Update(change.namespace, change.name, body)
            self._check(self.store.update(change.kind, [update]))

    def _write_status(self, change: RecordedChange, before: Mapping[str, Any]) -> None:
        """Write the recorded status of an object, unless the replayed scheduler computes it."""
        now = change.body.get("status") or {}
        if not entry_of(change.kind).status_computed and now != before:
            patch = {"status": _merge_patch(before, now)}
            self._check(
                self.store.patch_status(change.kind, [Patch(change.namespace, change.name, patch)])
            )

    def _check(self, replies: Replies) -> None:
        self.refusals.extend(
            reply.message or reply.code.value
            for reply in replies
            if reply.outcome is not WriteOutcome.OK
        )


def deleted_keys(watch: Watch) -> list[str]:
    """Keys (``namespace/name``) of the objects deleted since the last poll of a watch."""
    return [
        f"{event.record.namespace}/{event.record.name}"
        for event in watch.poll(1 << 30)
        if event.type is EventType.DELETED
    ]


def on_node(pod: PodHistory) -> dict[str, Any]:
    """The body of a pod that is created with its node."""
    return {**pod.body, "spec": {**pod.body.get("spec", {}), "nodeName": pod.node}}


def _merge_patch(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch (RFC 7386) from one object to another."""
    patch: dict[str, Any] = {key: None for key in before if key not in now}
    for key, value in now.items():
        old = before.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        patch[key] = _merge_patch(old or {}, value) if both else value
    return patch


def _is_daemon(body: bytes) -> bool:
    """True if a pod belongs to a DaemonSet."""
    owners = msgspec.json.decode(body).get("metadata", {}).get("ownerReferences") or ()
    return any(owner.get("kind") == "DaemonSet" for owner in owners)
