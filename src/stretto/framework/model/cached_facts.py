"""Pods by row in the form that the plugins read: each record is decoded once, for all shards.

Pods of one template share one manifest in embedded stores, so a decoded manifest is cached by its
bytes. Values of the row (name, uid, resolved priority) override those of the manifest. A pod on a
node whose manifest cannot be decoded still uses the amounts that the ledger charges for it.
"""

from typing import Final, NamedTuple, Protocol

import msgspec

from stretto.api import codec
from stretto.api.types.pod import Container, Pod, PodSpec
from stretto.api.wire.meta import ObjectMeta
from stretto.api.wire.quantity import CPU
from stretto.api.wire.resources import ResourceList, ResourceRequirements
from stretto.base.errors import InputError
from stretto.framework.model.pod_facts import FactsCompiler, SchedulingFacts
from stretto.state.cluster.cluster import Cluster

BODIES_KEPT: Final = 4096
"""Maximum number of cached manifests; beyond it all are dropped and decoded again on demand."""


class RowRecord(Protocol):
    """The part of a pod's record that is read."""

    @property
    def body(self) -> bytes:
        """The pod's JSON."""
        ...

    @property
    def deleting(self) -> str:
        """The deletion timestamp; empty for a pod that is not being deleted."""
        ...


class PodFactsEntry(NamedTuple):
    """The facts of one pod, with their source."""

    #: The decoded record.
    record: RowRecord | None
    #: The resolved priority at that time.
    priority: int
    #: The pod; a placeholder if it cannot be decoded.
    facts: SchedulingFacts
    #: The decoding error; empty for none.
    fault: str


class PodFactsCache:
    """Facts of pods by row."""

    def __init__(self, cluster: Cluster) -> None:
        """Read the pods of a cluster that stores whole objects."""
        self._cluster = cluster
        self._compiler = FactsCompiler()
        self._entries: dict[str, PodFactsEntry] = {}
        self._bodies: dict[bytes, Pod | str] = {}

    def facts(self, row: int) -> SchedulingFacts:
        """The current pod of a row; the same object while nothing has changed."""
        return self._entry(row).facts

    def fault(self, row: int) -> str:
        """The decoding error of a row's pod; empty for none."""
        return self._entry(row).fault

    def entry(self, row: int) -> tuple[SchedulingFacts, str]:
        """The pod of a row, and its decoding error."""
        found = self._entry(row)
        return found.facts, found.fault

    def _entry(self, row: int) -> PodFactsEntry:
        pods, records = self._cluster.pods, self._cluster.records
        uid = pods.uid[row]
        record, priority = records.get(uid), int(pods.priority[row])
        kept = self._entries.get(uid)
        if kept is not None and kept.priority == priority and _is_same_content(kept.record, record):
            return kept
        if len(self._entries) > 2 * len(records) + BODIES_KEPT:
            self._entries = {key: each for key, each in self._entries.items() if key in records}
        made = self._read(row, record, priority)
        if kept is not None and not (made.fault or kept.fault) and _equal(kept.facts, made.facts):
            made = made._replace(facts=kept.facts)
        self._entries[uid] = made
        return made

    def _read(self, row: int, record: RowRecord | None, priority: int) -> PodFactsEntry:
        found = self._pod(record.body) if record is not None else "its record is not kept"
        fault = found if isinstance(found, str) else ""
        pod = self._placeholder(row) if isinstance(found, str) else found
        pods = self._cluster.pods
        meta = msgspec.structs.replace(
            pod.metadata,
            namespace=pods.namespace[row],
            name=pods.name[row],
            uid=pods.uid[row],
            deletion_timestamp=(record and record.deleting) or pod.metadata.deletion_timestamp,
        )
        facts = self._compiler.facts(msgspec.structs.replace(pod, metadata=meta))
        facts.priority = priority
        return PodFactsEntry(record, priority, facts, fault)

    def _pod(self, body: bytes) -> Pod | str:
        """Decode a manifest without its managed fields; if that fails, return the error."""
        found = self._bodies.get(body)
        if found is None:
            if len(self._bodies) >= BODIES_KEPT:
                self._bodies.clear()
            try:
                found = self._read_body(body)
                if found.metadata.managed_fields is not msgspec.UNSET:
                    meta = msgspec.structs.replace(found.metadata, managed_fields=msgspec.UNSET)
                    found = msgspec.structs.replace(found, metadata=meta)
            except InputError as error:
                found = str(error)
            self._bodies[body] = found
        return found

    def _read_body(self, body: bytes) -> Pod:
        """Decode the pod of a manifest.

        Raises:
            InputError: it cannot be decoded; the message contains the field.
        """
        return codec.decode_as(Pod, body, "pod")

    def _placeholder(self, row: int) -> Pod:
        """A pod with the requests that the ledger charges."""
        cluster = self._cluster
        pod = cluster.classes[int(cluster.pods.class_id[row])]
        names = cluster.ledger.resources.names
        amounts: ResourceList = {}
        for column, amount in pod.requests:
            name = names[column]
            amounts[name] = f"{amount}m" if name == CPU else str(amount)
        requested = ResourceRequirements(requests=amounts)
        return Pod(ObjectMeta(), PodSpec(containers=(Container("stand-in", resources=requested),)))


def _is_same_content(one: RowRecord | None, other: RowRecord | None) -> bool:
    """Return whether two records differ at most in the fields that a bind writes."""
    if one is other:
        return True
    if one is None or other is None:
        return False
    return one.body is other.body and one.deleting == other.deleting


def _equal(one: SchedulingFacts, other: SchedulingFacts) -> bool:
    """Return whether plugins read the same values in both."""
    return (
        one.shape is other.shape
        and one.labels == other.labels
        and (one.priority, one.start, one.terminating)
        == (other.priority, other.start, other.terminating)
        and one.pod.metadata.owner_references == other.pod.metadata.owner_references
    )
