"""Changes of the nodes of a copied state: lost nodes, more nodes, all pods placed again."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stretto.api import codec
from stretto.api.wire.kinds import NODE, POD
from stretto.api.wire.labels import HOSTNAME_LABEL, INSTANCE_TYPE
from stretto.base.errors import InputError, NotFoundError
from stretto.plane.copy import StoreState
from stretto.stores.store import Record


@dataclass(frozen=True)
class NodeChange:
    """Differences between the nodes of a trial and those of the state."""

    #: Removed nodes; their pods are pending.
    lost: frozenset[str] = frozenset()
    #: New nodes: number of copies, by the name of the copied node.
    added: Mapping[str, int] = field(default_factory=dict)
    #: True if all pods are placed again, including those on unchanged nodes.
    repacked: bool = False


def nodes_of(state: StoreState) -> dict[str, Record]:
    """The nodes of a state by name."""
    return {each.name: each for each in state.records if each.kind == NODE}


def kinds_of(state: StoreState) -> dict[str, str]:
    """One node of each kind, distinguished by instance type or by allocatable amounts.

    Returns:
        The title of the kind, by the name of the node.
    """
    seen: dict[str, str] = {}
    for name, record in nodes_of(state).items():
        body = _decoded(record)
        labels = body.get("metadata", {}).get("labels") or {}
        amounts = body.get("status", {}).get("allocatable") or {}
        shape = ", ".join(f"{key} {amounts[key]}" for key in sorted(amounts))
        seen.setdefault(labels.get(INSTANCE_TYPE) or shape or name, name)
    return {name: title for title, name in seen.items()}


def changed(state: StoreState, change: NodeChange) -> StoreState:
    """The state after a change of its nodes.

    Raises:
        NotFoundError: the state has no node of that name.
        InputError: a number of copies is below 1.
    """
    known = nodes_of(state)
    for name in (*sorted(change.lost), *change.added):
        if name not in known:
            raise NotFoundError(f"node {name}", f"nodes: {', '.join(sorted(known)[:10])}")
    records = list(_kept(state.records, change))
    for name, count in change.added.items():
        if count < 1:
            raise InputError(f"nodes like {name}", count, "at least 1")
        records += [_copied(known[name], number) for number in range(1, count + 1)]
    return state._replace(records=records)


def _kept(records: Iterable[Record], change: NodeChange) -> Iterator[Record]:
    for record in records:
        if record.kind == NODE and record.name in change.lost:
            continue
        stays = record.node not in change.lost and not change.repacked
        if record.kind != POD or not record.node or stays:
            yield record
        elif not (record.node in change.lost and _belongs_to_node(record)):
            yield _pending(record)


def _pending(record: Record) -> Record:
    """A pod without its node."""
    body = _decoded(record)
    body.get("spec", {}).pop("nodeName", None)
    body.pop("status", None)
    cleared = msgspec.json.encode(body)
    return msgspec.structs.replace(record, node="", annotations=None, body=cleared)


def _belongs_to_node(record: Record) -> bool:
    """True if a DaemonSet or the node itself owns the pod, which is then removed with its node."""
    owners = _decoded(record).get("metadata", {}).get("ownerReferences") or []
    return any(each.get("kind") in ("DaemonSet", "Node") for each in owners)


def _copied(record: Record, number: int) -> Record:
    body = _decoded(record)
    name = f"{record.name}-more-{number}"
    metadata = body.setdefault("metadata", {})
    metadata.update(name=name, uid=name)
    labels = metadata.get("labels")
    if labels and HOSTNAME_LABEL in labels:
        labels[HOSTNAME_LABEL] = name
    return msgspec.structs.replace(record, name=name, uid=name, body=msgspec.json.encode(body))


def _decoded(record: Record) -> dict[str, Any]:
    where = f"{record.kind.kind} {record.name}"
    return codec.decode_as(dict[str, Any], record.body, where)
