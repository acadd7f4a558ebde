"""The steps of a pod's life as text, each with its cause, from the batches of a recorder."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from stretto.explain.records.recorder import StepBatch, StepKind
from stretto.explain.words.standing import joined, retry_condition
from stretto.state.work.units import Cure


class StepFact(msgspec.Struct, frozen=True):
    """One step of a pod's life."""

    #: Seconds of the run; in a run of a scenario, seconds of the scenario.
    time_s: float
    #: Kind of the step: ``seen``, ``no place``, ``woken``, ``placed``, ``nominated``, ``refused``,
    #: ``bound``, ``preempted``, ``reclaimed``, ``moved``, ``over-commit``, ``gang broken``,
    #: ``evicts``, ``kept``, ``released``, ``changed``, ``given up`` or ``left``.
    step: str
    #: Details for people.
    detail: str
    #: Cause or consequence; empty if evident.
    cause: str = ""


class WakeEvents(NamedTuple):
    """Cluster events that may trigger a retry."""

    #: Seconds of the run, ascending.
    at: Sequence[float]
    #: ``Cure`` bits of each event.
    bits: Sequence[int]


NO_WAKE_EVENTS: Final = WakeEvents((), ())
FAILED_STEPS: Final = ("no place", "refused")
"""Steps that are failed placement attempts."""
_SEEN: Final = "first seen by the scheduler"
_GONE: Final = "a deleted node"
_HAS_CLAIM: Final = {
    StepKind.PLACED: True,
    StepKind.NOMINATED: True,
    StepKind.REFUSED: False,
    StepKind.RELEASED: False,
}
"""By kind of step: true if a pod has a claim of this scheduler after the step."""
EVICTED: Final = {
    StepKind.PREEMPTED: "preempted",
    StepKind.RECLAIMED: "reclaimed",
    StepKind.MOVED: "moved",
    StepKind.OVERCOMMIT: "over-commit",
    StepKind.GANG_RELEASED: "gang broken",
}
"""The steps of evicted pods."""
_EVENTS: Final = {
    Cure.NODE_ADDED: "a node was added",
    Cure.NODE_GREW: "a node grew",
    Cure.NODE_LABELS: "node labels changed",
    Cure.NODE_TAINTS: "node taints or cordons changed",
    Cure.POD_LEFT: "capacity was freed on a node",
    Cure.POD_PLACED: "a pod was placed",
    Cure.POD_LABELS: "pod labels changed",
    Cure.POD_CHANGED: "a pod changed",
    Cure.GROUP_CHANGED: "a PodGroup changed",
    Cure.VOLUME_CHANGED: "a volume was added or changed",
    Cure.QUEUE_CHANGED: "a queue changed",
    Cure.POD_EVICTABLE: "a pod became evictable",
}
"""Past events that triggered a retry, as text."""


def step_facts(
    steps: Iterable[tuple[StepBatch, str]], wake_events: WakeEvents = NO_WAKE_EVENTS
) -> Iterator[StepFact]:
    """Convert the steps of one pod to text.

    Args:
        steps: its steps in order, each with the node's name or an empty string.
        wake_events: events that may have triggered a retry between two attempts.
    """
    declined: tuple[float, int] | None = None
    placed = False
    for batch, node in steps:
        if batch.kind is StepKind.ARRIVED:
            yield _arrived(batch)
            continue
        attempted = batch.kind in (StepKind.PLACED, StepKind.NO_PLACE, StepKind.NOMINATED)
        if declined is not None and attempted:
            yield from _woken(declined, batch.time, wake_events)
            declined = None
        if batch.kind is StepKind.NO_PLACE:
            fact, cures = _declined(batch)
            declined = batch.time, cures
            yield fact
        elif batch.kind is StepKind.BOUND:
            yield _bound(batch, node, ours=placed)
        else:
            yield _plain(batch, node)
        if batch.kind in _HAS_CLAIM:
            placed = _HAS_CLAIM[batch.kind]


def _arrived(batch: StepBatch) -> StepFact:
    if batch.detail == "gated":
        return StepFact(batch.time, "seen", _SEEN, "held by a scheduling gate")
    return StepFact(batch.time, "seen", _SEEN)


def _declined(batch: StepBatch) -> tuple[StepFact, int]:
    """Convert a failed attempt; also return the ``Cure`` bits of its retry events."""
    bits, _, message = batch.detail.partition(" ")
    cures = int(bits or 0)
    condition = retry_condition(cures)
    cause = f"retried {condition}" if condition else "retried after a back-off"
    detail = f"shard {batch.shard} found no node{': ' * bool(message)}{message}"
    return StepFact(batch.time, "no place", detail, cause), cures


def _woken(
    declined: tuple[float, int], until: float, wake_events: WakeEvents
) -> Iterator[StepFact]:
    """Step that names the trigger of a retry: the last relevant event before the next attempt."""
    since, cures = declined
    place = bisect_left(wake_events.at, until)
    while place < len(wake_events.at) and wake_events.at[place] <= until:
        place += 1
    while place > 0 and wake_events.at[place - 1] >= since:
        place -= 1
        bits = wake_events.bits[place] & cures
        if bits:
            texts = [text for bit, text in _EVENTS.items() if bits & bit]
            yield StepFact(wake_events.at[place], "woken", joined(texts, "and"))
            return
    yield StepFact(until, "woken", "back-off expired, or periodic retry")


def _bound(batch: StepBatch, node: str, *, ours: bool) -> StepFact:
    node_name = node or _GONE
    if ours:
        return StepFact(batch.time, "bound", f"bind confirmed on {node_name}")
    return StepFact(batch.time, "bound", f"on {node_name}", "bound by another component")


def _plain(batch: StepBatch, node: str) -> StepFact:
    """Convert a step that its own batch describes completely."""
    time, by = batch.time, f"shard {batch.shard}"
    if batch.kind is StepKind.PLACED:
        return StepFact(time, "placed", f"on {node or _GONE} by {by}")
    if batch.kind is StepKind.REFUSED:
        owner = f"the claim of {by}" if batch.shard >= 0 else "the claim"
        return StepFact(time, "refused", f"{owner}: {batch.detail}", "retried")
    if batch.kind is StepKind.GIVEN_UP:
        return StepFact(time, "given up", batch.detail)
    if batch.kind is StepKind.NOMINATED:
        detail = f"{by} nominated {node or _GONE}"
        return StepFact(time, "nominated", detail, "the victims must terminate first")
    if batch.kind in EVICTED:
        detail = f"evicted from {node or 'its node'}"
        return StepFact(time, EVICTED[batch.kind], detail, batch.detail)
    if batch.kind is StepKind.EVICTS:
        why, _, victims = batch.detail.partition("\n")
        return StepFact(time, "evicts", victims, why or "they have a lower priority")
    if batch.kind is StepKind.KEPT:
        return StepFact(time, "kept", "its eviction was refused or withdrawn")
    if batch.kind is StepKind.RELEASED:
        return StepFact(time, "released", "pending again", "its node or its claim was lost")
    if batch.kind is StepKind.CHANGED:
        return StepFact(time, "changed", "a scheduling gate, label or annotation changed")
    return StepFact(time, "left", "finished or deleted")
