"""Handover of pods between the daemons of one scheduler, through the annotations of Gödel.

The annotations of a pod define the daemon that is responsible for it (``Hand``). Each daemon
processes its pods and hands them over with one patch. This module is the whole contract and does no
I/O: the meaning of the annotations (``read``) and the bodies of all writes. A body contains only
differences from the current annotations, as in Gödel, so that equal decisions are equal bytes.

Writes about a pod go to ``pods/status`` as a strategic merge patch; ``reset``, ``owned`` and
``locked`` go to the object itself as a merge patch.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

import msgspec

from stretto.api.types.heads import GROUP_NOTE, NO_BYTES, MetaHead

PREFIX: Final = "godel.bytedance.com/"
"""Prefix of the keys."""
POD_STATE: Final = f"{PREFIX}pod-state"
SELECTED: Final = f"{PREFIX}selected-scheduler"
FAILED: Final = f"{PREFIX}failed-schedulers"
ASSUMED_NODE: Final = f"{PREFIX}assumed-node"
CROSS_NODE: Final = f"{PREFIX}assumed-cross-node"
NOMINATED_NODE: Final = f"{PREFIX}nominated-node"
MICRO_TOPOLOGY: Final = f"{PREFIX}micro-topology"
RESOURCE_TYPE: Final = f"{PREFIX}pod-resource-type"
LAUNCHER: Final = f"{PREFIX}pod-launcher"
HANDLED: Final = f"{PREFIX}initial-handled-timestamp"
INDEX: Final = f"{PREFIX}scheduled-index-in-scheduling-unit"
TRIED: Final = f"{PREFIX}e2e-excluded"
PLANNED_NODE: Final = "stretto.dev/planned-node"
"""The node that backfill has planned for a pod; only Stretto's shards read it."""
TRACE: Final = "trace-context"
"""The only key without a domain; always empty in Stretto."""
OWNER: Final = f"{PREFIX}scheduler-name"
"""On a node: the shard whose partition contains the node."""
LOCK: Final = f"{PREFIX}podgroup-final-op-lock"
"""On a PodGroup: the component that may set its final phase."""
LOCK_BINDER: Final = "binder"
KUBELET: Final = "kubelet"
NODE_MANAGER: Final = "node-manager"
LAUNCHERS: Final = (KUBELET, NODE_MANAGER)
"""Agents of a node that start pods; the first is the default."""

BEST_EFFORT: Final = "best-effort"
RESOURCE_TYPES: Final = ("guaranteed", BEST_EFFORT)
"""Pools from which a pod takes capacity: the node (the default) or its reclaimed pool."""

_DECISION: Final = (SELECTED, ASSUMED_NODE, CROSS_NODE, NOMINATED_NODE, PLANNED_NODE)
_KINDS: Final = {
    RESOURCE_TYPE: RESOURCE_TYPES,
    LAUNCHER: LAUNCHERS,
}


class Hand(Enum):
    """The daemon that is responsible for a pod without a node."""

    #: The dispatcher.
    PENDING = "pending"
    #: Its shard.
    DISPATCHED = "dispatched"
    #: The binder, with an assumed node.
    ASSUMED = "assumed"
    #: The binder, with a nominated node from which victims must first be evicted.
    NOMINATED = "nominated"
    #: None, because the annotations contradict each other; the dispatcher resets them.
    ABNORMAL = "abnormal"
    #: None, because an annotation has an unknown value; the owner has to correct it.
    UNKNOWN = "unknown"


class VictimNote(msgspec.Struct, frozen=True):
    """A victim in ``nominated-node``."""

    #: Its name.
    name: str
    #: Its namespace.
    namespace: str
    #: Its identity.
    uid: str


class NominatedNote(msgspec.Struct, frozen=True):
    """The value of ``nominated-node``."""

    #: The node.
    node: str
    #: Victims to be evicted from it.
    victims: tuple[VictimNote, ...] = ()


class HandoverState(msgspec.Struct, frozen=True, gc=False):
    """The meaning of the annotations of a pod without a node."""

    #: The responsible daemon.
    hand: Hand
    #: All annotations.
    notes: Mapping[str, str]
    #: The assumed or nominated node; empty for none.
    node: str = ""
    #: Victims on that node.
    victims: tuple[VictimNote, ...] = ()

    @property
    def scheduler(self) -> str:
        """The selected shard; empty for none."""
        return self.notes.get(SELECTED, "")

    @property
    def planned(self) -> str:
        """The node that backfill has planned; empty for any."""
        return self.notes.get(PLANNED_NODE, "")

    @property
    def failed(self) -> tuple[str, ...]:
        """Shards that returned the pod."""
        return tuple(name for name in self.notes.get(FAILED, "").split(",") if name)

    @property
    def group(self) -> str:
        """Its PodGroup; empty for none."""
        return self.notes.get(GROUP_NOTE, "")


_NOTES: Final = msgspec.json.Decoder(dict[str, str] | None)
_NOMINATED: Final = msgspec.json.Decoder(NominatedNote)


def standing_of(meta: MetaHead) -> HandoverState:
    """The meaning of the annotations in a pod's metadata; unreadable ones are abnormal."""
    try:
        notes = None if meta.annotations is NO_BYTES else _NOTES.decode(meta.annotations)
    except (msgspec.DecodeError, RecursionError):
        return HandoverState(Hand.UNKNOWN, {})
    return read(notes or {})


def unknown_value(notes: Mapping[str, str]) -> tuple[str, tuple[str, ...]] | None:
    """An annotation with an unknown value, and the known values."""
    for key, known in _KINDS.items():
        if notes.get(key, known[0]) not in known:
            return key, known
    return None


def read(notes: Mapping[str, str]) -> HandoverState:
    """The meaning of annotations.

    A pod without annotations counts as ``pending``. Gödel considers it abnormal and first writes
    this value, which costs one more write per pod.
    """
    if unknown_value(notes) is not None:
        return HandoverState(Hand.UNKNOWN, notes)
    state, node, wanted = (
        notes.get(POD_STATE, ""),
        notes.get(ASSUMED_NODE),
        notes.get(NOMINATED_NODE),
    )
    is_selected, has_node = bool(notes.get(SELECTED)), bool(node or wanted)
    if state in ("", Hand.PENDING.value):
        is_clean = not is_selected and not has_node
        return HandoverState(Hand.PENDING if is_clean else Hand.ABNORMAL, notes)
    if state == Hand.DISPATCHED.value and is_selected and not has_node:
        return HandoverState(Hand.DISPATCHED, notes)
    if state != Hand.ASSUMED.value or not is_selected or bool(node) == bool(wanted):
        return HandoverState(Hand.ABNORMAL, notes)
    if node:
        return HandoverState(Hand.ASSUMED, notes, node)
    try:
        nominated = _NOMINATED.decode(wanted or "")
    except (msgspec.DecodeError, RecursionError):
        return HandoverState(Hand.ABNORMAL, notes)
    return HandoverState(Hand.NOMINATED, notes, nominated.node, nominated.victims)


# ---------------------------------------------------------------- bodies


def dispatched(standing: HandoverState, shard: str, at: str, planned: str = "") -> dict[str, Any]:
    """The dispatcher assigns a pod to a shard, optionally with a planned node.

    ``at`` is RFC 3339.
    """
    notes = {POD_STATE: "dispatched", SELECTED: shard, PLANNED_NODE: planned or None}
    return _changed(standing, {**_handled(at), **notes})


def reset(standing: HandoverState) -> dict[str, Any]:
    """The dispatcher takes back a pod of no daemon or of a dead shard."""
    return _changed(standing, {POD_STATE: "pending", **dict.fromkeys(_DECISION)})


def assumed(
    standing: HandoverState,
    node: str,
    index: int | None,
    at: str,
    more: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A shard has found a node.

    Args:
        standing: the current annotations of the pod.
        node: the node.
        index: position in its unit; ``None`` if the unit has its nodes already.
        at: RFC 3339 time.
        more: further values of the decision, such as devices and NUMA nodes.
    """
    notes = {**_handled(at), ASSUMED_NODE: node, POD_STATE: "assumed", **(more or {})}
    return _changed(standing, notes | _index(index))


def nominated(
    standing: HandoverState, wanted: NominatedNote, index: int | None, at: str
) -> dict[str, Any]:
    """A shard has found a node that needs preemption; without preemption it found none."""
    said = msgspec.json.encode(wanted).decode()
    notes = {**_handled(at), NOMINATED_NODE: said, POD_STATE: "assumed", TRIED: "true"}
    return _changed(standing, notes | _index(index))


def given_back(standing: HandoverState, shard: str) -> dict[str, Any]:
    """A shard has no node for a pod and returns it to the dispatcher."""
    failed = ",".join(dict.fromkeys([*standing.failed, shard]))
    gone = dict.fromkeys((SELECTED, PLANNED_NODE))
    notes = {TRIED: "true", FAILED: failed, POD_STATE: "pending", **gone}
    return _changed(standing, notes)


def tried(standing: HandoverState) -> dict[str, Any]:
    """A shard has no node for a pod at present and keeps the pod."""
    return _changed(standing, {TRIED: "true"})


def rejected(standing: HandoverState) -> dict[str, Any]:
    """The binder rejects a decision: the pod returns to its shard."""
    gone = (ASSUMED_NODE, CROSS_NODE, NOMINATED_NODE, FAILED, MICRO_TOPOLOGY)
    return _changed(standing, {POD_STATE: "dispatched", **dict.fromkeys(gone)})


def owned(shard: str) -> dict[str, Any]:
    """A node joins the partition of a shard."""
    return {"metadata": {"annotations": {OWNER: shard}}}


def locked() -> dict[str, Any]:
    """The binder is about to finish a PodGroup: no other component may let it time out."""
    return {"metadata": {"annotations": {LOCK: LOCK_BINDER}}}


def scheduler_body(api_version: str, name: str) -> dict[str, Any]:
    """A shard registers itself."""
    meta = {"name": name}
    return {
        "apiVersion": api_version,
        "kind": "Scheduler",
        "metadata": meta,
        "spec": {},
        "status": {},
    }


def heartbeat(at: str) -> dict[str, Any]:
    """A shard sends a heartbeat, at an RFC 3339 time."""
    return {"status": {"lastUpdateTime": at}}


def with_condition(body: dict[str, Any], conditions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A body with conditions of the status and annotations."""
    return {**body, "status": {"conditions": list(conditions)}}


def _handled(at: str) -> dict[str, str | None]:
    return {HANDLED: at, TRACE: ""}


def _index(index: int | None) -> dict[str, str | None]:
    return {} if index is None else {INDEX: str(index)}


def _changed(standing: HandoverState, wanted: Mapping[str, str | None]) -> dict[str, Any]:
    """The annotations in ``wanted`` that differ; annotations of the first write never change."""
    notes = standing.notes
    change = {
        key: value
        for key, value in wanted.items()
        if notes.get(key) != value and not (key in (HANDLED, TRACE) and key in notes)
    }
    return {"metadata": {"annotations": change}} if change else {}
