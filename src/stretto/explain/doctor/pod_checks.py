"""Law 3 and 4 on live state: where each pod is, by its object and by the books."""

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
    """Where a pod's own text says that it is."""

    #: Its node.
    node_name: str | None = None


class _CheckedCondition(msgspec.Struct, frozen=True):
    """One condition."""

    #: Which aspect.
    type: str = ""
    #: ``True``, ``False`` or ``Unknown``.
    status: str = ""


class _CheckedStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What a pod's status says of its place."""

    #: The node that is kept for it.
    nominated_node_name: str | None = None
    #: What was observed.
    conditions: tuple[_CheckedCondition, ...] | None = None


class _CheckedBody(msgspec.Struct, frozen=True):
    """The parts of a pod's text that are looked at."""

    #: Its spec.
    spec: _CheckedSpec = _CheckedSpec()
    #: Its status.
    status: _CheckedStatus = _CheckedStatus()


_DECODER: Final = msgspec.json.Decoder(_CheckedBody)


def bound_twice(pods: Sequence[Record]) -> Iterator[Finding]:
    """Pods that are in two places by their objects."""
    seen: dict[str, Record] = {}
    for record in pods:
        other = seen.setdefault(record.uid, record)
        if other is not record:
            one, two = _key(other), _key(record)
            yield Finding(
                DoctorCheck.BOUND_TWICE,
                f"pods {one} and {two} have one uid, {record.uid}",
                (f"Pod {one}", f"Pod {two}"),
            )
        if record.node and _NODE in record.body:
            written = _read(record).spec.node_name
            if written and written != record.node:
                yield Finding(
                    DoctorCheck.BOUND_TWICE,
                    f"pod {_key(record)} is bound to {record.node}, and its spec says {written}",
                    (f"Pod {_key(record)}", f"Node {record.node}", f"Node {written}"),
                )


def placed_twice(batches: Sequence[StepBatch], names: dict[int, str]) -> Iterator[Finding]:
    """Pods that were given a node twice, with no refusal or release between, by their history.

    Args:
        batches: what happened, in order.
        names: ``namespace/name`` by serial.
    """
    given_back = (StepKind.REFUSED, StepKind.RELEASED)
    telling = [b for b in batches if b.kind is StepKind.PLACED or b.kind in given_back]
    if not telling:
        return
    serials = np.concatenate([b.serials for b in telling])
    is_placed = np.repeat(
        [b.kind is StepKind.PLACED for b in telling], [len(b.serials) for b in telling]
    )
    order = np.argsort(serials, kind="stable")
    serials, is_placed = serials[order], is_placed[order]
    again = (serials[1:] == serials[:-1]) & is_placed[1:] & is_placed[:-1]
    for serial in np.unique(serials[1:][again]).tolist():
        key = names.get(serial, f"number {serial}")
        yield Finding(
            DoctorCheck.BOUND_TWICE,
            f"pod {key} was placed a second time and its first claim had not been given back",
            (f"Pod {key}",),
        )


def unknown_nodes(cluster: Cluster) -> Iterator[Finding]:
    """Pods on nodes that nobody knows."""
    pods = cluster.pods
    states = pods.state[: pods.length]
    lost = (states == PodState.BOUND) & (pods.slot[: pods.length] == NO_SLOT)
    by_node: dict[str, list[int]] = {}
    for row in np.flatnonzero(lost).tolist():
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
    """Claims in the books whose pod does not exist, or is bound elsewhere."""
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
    """Claims whose bind has not been seen."""
    bound = {record.uid for record in records if record.node}
    pods = cluster.pods
    assumed = np.flatnonzero(pods.state[: pods.length] == PodState.ASSUMED)
    for row in assumed.tolist():
        if pods.uid[row] not in bound:
            key, node = pods.key(row), cluster.node_of(row)
            sentence = f"pod {key} is claimed for {node}, and its bind has not been seen"
            yield Finding(DoctorCheck.IN_DOUBT, sentence, (f"Pod {key}", f"Node {node}"))


def stale_statuses(pods: Sequence[Record], nodes: frozenset[str]) -> Iterator[Finding]:
    """Nominations and conditions that no longer hold."""
    for record in pods:
        if _NOMINATED not in record.body and _CONDITION not in record.body:
            continue
        body = _read(record)
        node, key = record.node or body.spec.node_name or "", _key(record)
        kept = body.status.nominated_node_name or ""
        if kept and kept not in nodes:
            sentence = f"pod {key} has node {kept} kept for it, which does not exist"
            yield Finding(DoctorCheck.STALE_NOMINATION, sentence, (f"Pod {key}", f"Node {kept}"))
        elif kept and node and node != kept:
            sentence = f"pod {key} is on {node} and still has node {kept} kept for it"
            yield Finding(DoctorCheck.STALE_NOMINATION, sentence, (f"Pod {key}", f"Node {kept}"))
        for condition in body.status.conditions or ():
            if condition.type == "PodScheduled" and condition.status == "False" and node:
                sentence = f"pod {key} is on {node}, and its condition says PodScheduled=False"
                yield Finding(DoctorCheck.STALE_CONDITION, sentence, (f"Pod {key}",))


def unreadable(cluster: Cluster) -> Iterator[Finding]:
    """Objects that cannot be read."""
    for name, complaint in cluster.abnormal.items():
        kind, _, key = name.partition(" ")
        yield Finding(
            DoctorCheck.UNREADABLE, f"{name}: {complaint}", (f"{kind.capitalize()} {key}",)
        )


def _read(record: Record) -> _CheckedBody:
    """What a body says of its place; nothing where it cannot be read."""
    try:
        return _DECODER.decode(record.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _CheckedBody()


def _key(record: Record) -> str:
    return f"{record.namespace}/{record.name}"
