"""Invariants 3 and 4: the node of each pod, from its object and from the cluster state."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from stretto.explain.doctor.findings import DoctorCheck, Finding
from stretto.explain.records.recorder import StepBatch, StepKind
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.stores.store import Record

_CONDITION: Final = b'"PodScheduled"'
_NOMINATED: Final = b'"nominatedNodeName"'
_NODE: Final = b'"nodeName"'


class _CheckedSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The node in a pod's spec."""

    #: Node that the spec names.
    node_name: str | None = None


class _CheckedCondition(msgspec.Struct, frozen=True):
    """One condition."""

    #: Condition type.
    type: str = ""
    #: ``True``, ``False`` or ``Unknown``.
    status: str = ""


class _CheckedStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The scheduling part of a pod's status."""

    #: Nominated node.
    nominated_node_name: str | None = None
    #: Conditions of the pod.
    conditions: tuple[_CheckedCondition, ...] | None = None


class _CheckedBody(msgspec.Struct, frozen=True):
    """The parts of a pod that are checked."""

    #: Spec of the pod.
    spec: _CheckedSpec = _CheckedSpec()
    #: Status of the pod.
    status: _CheckedStatus = _CheckedStatus()


_DECODER: Final = msgspec.json.Decoder(_CheckedBody)


def bound_twice(pods: Sequence[Record]) -> Iterator[Finding]:
    """Pods that are on two nodes according to their objects."""
    seen: dict[str, Record] = {}
    for record in pods:
        other = seen.setdefault(record.uid, record)
        if other is not record:
            one, two = _key(other), _key(record)
            yield Finding(
                DoctorCheck.BOUND_TWICE,
                f"pods {one} and {two} have the same uid, {record.uid}",
                (f"Pod {one}", f"Pod {two}"),
            )
        if record.node and _NODE in record.body:
            written = _read(record).spec.node_name
            if written and written != record.node:
                yield Finding(
                    DoctorCheck.BOUND_TWICE,
                    f"pod {_key(record)} is bound to {record.node}, but its spec names {written}",
                    (f"Pod {_key(record)}", f"Node {record.node}", f"Node {written}"),
                )


def placed_twice(batches: Sequence[StepBatch], names: dict[int, str]) -> Iterator[Finding]:
    """Pods that were placed twice without a refusal or release in between, from their history.

    Args:
        batches: the recorded steps, in order.
        names: ``namespace/name`` by serial.
    """
    claim_ended = (StepKind.REFUSED, StepKind.RELEASED)
    relevant = [b for b in batches if b.kind is StepKind.PLACED or b.kind in claim_ended]
    if not relevant:
        return
    serials = np.concatenate([b.serials for b in relevant])
    is_placed = np.repeat(
        [b.kind is StepKind.PLACED for b in relevant], [len(b.serials) for b in relevant]
    )
    order = np.argsort(serials, kind="stable")
    serials, is_placed = serials[order], is_placed[order]
    again = (serials[1:] == serials[:-1]) & is_placed[1:] & is_placed[:-1]
    for serial in np.unique(serials[1:][again]).tolist():
        key = names.get(serial, f"number {serial}")
        yield Finding(
            DoctorCheck.BOUND_TWICE,
            f"pod {key} was placed a second time before its first claim ended",
            (f"Pod {key}",),
        )


def unknown_nodes(cluster: Cluster) -> Iterator[Finding]:
    """Pods on unknown nodes."""
    pods = cluster.pods
    states = pods.state[: pods.length]
    orphaned = (states == PodState.BOUND) & (pods.slot[: pods.length] == NO_SLOT)
    by_node: dict[str, list[int]] = {}
    for row in np.flatnonzero(orphaned).tolist():
        by_node.setdefault(cluster.node_of(row), []).append(row)
    for node, rows in by_node.items():
        keys = [pods.key(row) for row in rows]
        more = f" and {len(keys) - 5} more" if len(keys) > 5 else ""
        yield Finding(
            DoctorCheck.UNKNOWN_NODE,
            f"pods are on node {node}, which does not exist: {', '.join(keys[:5])}{more}",
            (f"Node {node}", *(f"Pod {key}" for key in keys)),
        )


def claims_without_pods(cluster: Cluster, records: Sequence[Record]) -> Iterator[Finding]:
    """Claims in the ledger of pods that do not exist or are bound to another node."""
    pods = cluster.pods
    nodes = {record.uid: record.node for record in records}
    for row in np.flatnonzero(pods.slot[: pods.length] != NO_SLOT).tolist():
        node, key = cluster.nodes.names[int(pods.slot[row])], pods.key(row)
        found = nodes.get(pods.uid[row])
        if found is None:
            sentence = f"node {node} is charged for pod {key}, which does not exist"
        elif pods.state[row] == PodState.BOUND and found and found != node:
            sentence = f"node {node} is charged for pod {key}, which is bound to {found}"
        else:
            continue
        yield Finding(DoctorCheck.CLAIM_WITHOUT_POD, sentence, (f"Node {node}", f"Pod {key}"))


def in_doubt(cluster: Cluster, records: Sequence[Record]) -> Iterator[Finding]:
    """Claims whose bind is not confirmed."""
    bound = {record.uid for record in records if record.node}
    pods = cluster.pods
    assumed = np.flatnonzero(pods.state[: pods.length] == PodState.ASSUMED)
    for row in assumed.tolist():
        if pods.uid[row] not in bound:
            key, node = pods.key(row), cluster.node_of(row)
            sentence = f"pod {key} is claimed for {node}, but its bind is not confirmed"
            yield Finding(DoctorCheck.IN_DOUBT, sentence, (f"Pod {key}", f"Node {node}"))


def stale_statuses(pods: Sequence[Record], nodes: frozenset[str]) -> Iterator[Finding]:
    """Outdated nominations and conditions."""
    for record in pods:
        if _NOMINATED not in record.body and _CONDITION not in record.body:
            continue
        body = _read(record)
        node, key = record.node or body.spec.node_name or "", _key(record)
        nominated = body.status.nominated_node_name or ""
        if nominated and nominated not in nodes:
            sentence = f"pod {key} has nominated node {nominated}, which does not exist"
            yield Finding(
                DoctorCheck.STALE_NOMINATION, sentence, (f"Pod {key}", f"Node {nominated}")
            )
        elif nominated and node and node != nominated:
            sentence = f"pod {key} is on {node} but still has nominated node {nominated}"
            yield Finding(
                DoctorCheck.STALE_NOMINATION, sentence, (f"Pod {key}", f"Node {nominated}")
            )
        for condition in body.status.conditions or ():
            if condition.type == "PodScheduled" and condition.status == "False" and node:
                sentence = f"pod {key} is on {node}, but its condition is PodScheduled=False"
                yield Finding(DoctorCheck.STALE_CONDITION, sentence, (f"Pod {key}",))


def unreadable(cluster: Cluster) -> Iterator[Finding]:
    """Objects that cannot be decoded."""
    for name, complaint in cluster.abnormal.items():
        kind, _, key = name.partition(" ")
        yield Finding(
            DoctorCheck.UNREADABLE, f"{name}: {complaint}", (f"{kind.capitalize()} {key}",)
        )


def _read(record: Record) -> _CheckedBody:
    """Decode a body; return an empty body if it cannot be decoded."""
    try:
        return _DECODER.decode(record.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _CheckedBody()


def _key(record: Record) -> str:
    return f"{record.namespace}/{record.name}"
