"""Handover: how the daemons of one scheduler pass pods on through annotations, in Gödel's words.

A pod's annotations say in whose hands it is (``Hand``); each daemon acts on the pods that are in
its hands, and passes them on by one patch. This module is the whole contract and has no I/O: what
the annotations of a pod mean (``read``), and the bodies of every write. A body holds only what
differs from what the pod says already, as Gödel's do, so that equal decisions are equal bytes.

Where a write speaks of a pod it goes to ``pods/status`` as a strategic merge patch; ``reset``,
``owned`` and ``locked`` go to the object itself as a merge patch.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

import msgspec

from stretto.api.types.heads import GROUP_NOTE, NO_BYTES, MetaHead

PREFIX: Final = "godel.bytedance.com/"
"""What the keys begin with."""
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
TRACE: Final = "trace-context"
"""The one key without a prefix; always empty here."""
OWNER: Final = f"{PREFIX}scheduler-name"
"""On a node: the shard whose partition it is in."""
LOCK: Final = f"{PREFIX}podgroup-final-op-lock"
"""On a PodGroup: who may set its final phase."""
LOCK_BINDER: Final = "binder"
LOCK_CONTROLLER: Final = "pg-controller"

KUBELET: Final = "kubelet"
NODE_MANAGER: Final = "node-manager"
LAUNCHERS: Final = (KUBELET, NODE_MANAGER)
"""Agents of a node that start pods; the first where a pod says nothing."""

BEST_EFFORT: Final = "best-effort"
RESOURCE_TYPES: Final = ("guaranteed", BEST_EFFORT)
"""What a pod takes from: its node, as where it says nothing, or the node's pool."""

_DECISION: Final = (SELECTED, ASSUMED_NODE, CROSS_NODE, NOMINATED_NODE)
_KINDS: Final = {
    RESOURCE_TYPE: RESOURCE_TYPES,
    LAUNCHER: LAUNCHERS,
}


class Hand(Enum):
    """In whose hands a pod is that has no node yet."""

    #: The dispatcher's.
    PENDING = "pending"
    #: Its shard's.
    DISPATCHED = "dispatched"
    #: The binder's, with a node.
    ASSUMED = "assumed"
    #: The binder's, with a node on which others must leave first.
    NOMINATED = "nominated"
    #: Nobody's: its annotations contradict one another. The dispatcher puts it right.
    ABNORMAL = "abnormal"
    #: Nobody's: it asks for what nobody here knows. Its owner must put it right.
    UNKNOWN = "unknown"


class VictimNote(msgspec.Struct, frozen=True):
    """One pod that must leave, as ``nominated-node`` names it."""

    #: Its name.
    name: str
    #: Its namespace.
    namespace: str
    #: Its identity.
    uid: str


class NominatedNote(msgspec.Struct, frozen=True):
    """What ``nominated-node`` says."""

    #: The node.
    node: str
    #: Who must leave it first.
    victims: tuple[VictimNote, ...] = ()


class HandoverState(msgspec.Struct, frozen=True, gc=False):
    """What the annotations of a pod without a node mean."""

    #: In whose hands it is.
    hand: Hand
    #: All its annotations.
    notes: Mapping[str, str]
    #: The node that it is assumed on or nominated to; empty for none.
    node: str = ""
    #: Who must leave that node first.
    victims: tuple[VictimNote, ...] = ()

    @property
    def scheduler(self) -> str:
        """The shard that was selected; empty for none."""
        return self.notes.get(SELECTED, "")

    @property
    def failed(self) -> tuple[str, ...]:
        """Shards that gave it back."""
        return tuple(name for name in self.notes.get(FAILED, "").split(",") if name)

    @property
    def group(self) -> str:
        """Its PodGroup; empty for none."""
        return self.notes.get(GROUP_NOTE, "")


_NOTES: Final = msgspec.json.Decoder(dict[str, str] | None)
_NOMINATED: Final = msgspec.json.Decoder(NominatedNote)


def standing_of(meta: MetaHead) -> HandoverState:
    """What the annotations of a pod's metadata mean; unreadable ones are abnormal."""
    try:
        notes = None if meta.annotations is NO_BYTES else _NOTES.decode(meta.annotations)
    except (msgspec.DecodeError, RecursionError):
        return HandoverState(Hand.UNKNOWN, {})
    return read(notes or {})


def unknown_value(notes: Mapping[str, str]) -> tuple[str, tuple[str, ...]] | None:
    """An annotation whose word nobody here knows, with the words that are known."""
    for key, known in _KINDS.items():
        if notes.get(key, known[0]) not in known:
            return key, known
    return None


def read(notes: Mapping[str, str]) -> HandoverState:
    """What annotations mean.

    A pod without any is as good as one that says ``pending``: Gödel writes that word on it first,
    one write more for each pod, and takes it for abnormal before.
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


def dispatched(standing: HandoverState, shard: str, at: str) -> dict[str, Any]:
    """The dispatcher hands a pod to a shard, at an RFC 3339 time."""
    return _changed(standing, {**_handled(at), POD_STATE: "dispatched", SELECTED: shard})


def reset(standing: HandoverState) -> dict[str, Any]:
    """The dispatcher takes a pod back that is in nobody's hands, or in those of a dead shard."""
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
        standing: what the pod says now.
        node: the node.
        index: place in its unit; ``None`` where the unit has its nodes already.
        at: RFC 3339 time.
        more: what else is written with the decision, such as devices and NUMA nodes.
    """
    notes = {**_handled(at), ASSUMED_NODE: node, POD_STATE: "assumed", **(more or {})}
    return _changed(standing, notes | _index(index))


def nominated(
    standing: HandoverState, wanted: NominatedNote, index: int | None, at: str
) -> dict[str, Any]:
    """A shard has found a node on which others must leave first: plainly it found none."""
    said = msgspec.json.encode(wanted).decode()
    notes = {**_handled(at), NOMINATED_NODE: said, POD_STATE: "assumed", TRIED: "true"}
    return _changed(standing, notes | _index(index))


def given_back(standing: HandoverState, shard: str) -> dict[str, Any]:
    """A shard has no place and gives a pod back to the dispatcher."""
    failed = ",".join(dict.fromkeys([*standing.failed, shard]))
    notes = {TRIED: "true", FAILED: failed, POD_STATE: "pending", SELECTED: None}
    return _changed(standing, notes)


def tried(standing: HandoverState) -> dict[str, Any]:
    """A shard has no place now and keeps the pod."""
    return _changed(standing, {TRIED: "true"})


def rejected(standing: HandoverState) -> dict[str, Any]:
    """The binder does not take a decision: the pod goes back to its shard."""
    gone = (ASSUMED_NODE, CROSS_NODE, NOMINATED_NODE, FAILED, MICRO_TOPOLOGY)
    return _changed(standing, {POD_STATE: "dispatched", **dict.fromkeys(gone)})


def owned(shard: str) -> dict[str, Any]:
    """A node is put into a shard's partition."""
    return {"metadata": {"annotations": {OWNER: shard}}}


def locked() -> dict[str, Any]:
    """The binder is about to finish a PodGroup: nobody else may time it out."""
    return {"metadata": {"annotations": {LOCK: LOCK_BINDER}}}


def scheduler_body(api_version: str, name: str) -> dict[str, Any]:
    """A shard registers."""
    meta = {"name": name}
    return {
        "apiVersion": api_version,
        "kind": "Scheduler",
        "metadata": meta,
        "spec": {},
        "status": {},
    }


def heartbeat(at: str) -> dict[str, Any]:
    """A shard lives, at an RFC 3339 time."""
    return {"status": {"lastUpdateTime": at}}


def with_condition(body: dict[str, Any], conditions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A body with conditions of the status beside its annotations."""
    return {**body, "status": {"conditions": list(conditions)}}


def _handled(at: str) -> dict[str, str | None]:
    return {HANDLED: at, TRACE: ""}


def _index(index: int | None) -> dict[str, str | None]:
    return {} if index is None else {INDEX: str(index)}


def _changed(standing: HandoverState, wanted: Mapping[str, str | None]) -> dict[str, Any]:
    """The annotations among ``wanted`` that differ; those of the first touch are never renewed."""
    notes = standing.notes
    change = {
        key: value
        for key, value in wanted.items()
        if notes.get(key) != value and not (key in (HANDLED, TRACE) and key in notes)
    }
    return {"metadata": {"annotations": change}} if change else {}
