"""The steps of a pod's life in words, each with its cause, from what a recorder kept."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from stretto.explain.records.recorder import StepBatch, StepKind
from stretto.explain.words.standing import event_names
from stretto.state.work.units import Cure


class StepFact(msgspec.Struct, frozen=True):
    """One step of a pod's life."""

    #: Seconds after the start.
    time_s: float
    #: What happened: ``seen``, ``no place``, ``woken``, ``placed``, ``nominated``, ``refused``,
    #: ``bound``, ``preempted``, ``released``, ``changed``, ``given up`` or ``left``.
    step: str
    #: More about it, for people.
    detail: str
    #: Why it happened, or what it led to; empty where that is plain.
    cause: str = ""


class WakeEvents(NamedTuple):
    """Events of the cluster that may wake pods."""

    #: Seconds after the start, ascending.
    at: Sequence[float]
    #: ``Cure`` bits of each.
    bits: Sequence[int]


NO_NEWS: Final = WakeEvents((), ())
_HOLDS: Final = {
    StepKind.PLACED: True,
    StepKind.NOMINATED: True,
    StepKind.REFUSED: False,
    StepKind.RELEASED: False,
}
"""Whether a pod has a claim of ours after a step."""
_HAPPENED: Final = {
    Cure.NODE_ADDED: "a node joined",
    Cure.NODE_GREW: "a node grew",
    Cure.NODE_LABELS: "labels of a node changed",
    Cure.NODE_TAINTS: "taints of a node changed, or it was uncordoned",
    Cure.POD_LEFT: "room was given back on a node",
    Cure.POD_PLACED: "a pod came to a node",
    Cure.POD_LABELS: "labels of a pod changed",
    Cure.POD_CHANGED: "a pod was changed",
    Cure.GROUP_CHANGED: "a PodGroup changed",
    Cure.VOLUME_CHANGED: "a volume came or changed",
    Cure.QUEUE_CHANGED: "a queue changed",
}
"""Events that wake a waiting pod, once they have happened."""


def told(steps: Iterable[tuple[StepBatch, str]], news: WakeEvents = NO_NEWS) -> Iterator[StepFact]:
    """What happened to one pod, in words.

    Args:
        steps: its steps in order, each with the node's name or nothing.
        news: events that may have woken it between two attempts.
    """
    asleep: tuple[float, int] | None = None
    placed = False
    for batch, node in steps:
        if batch.kind is StepKind.CAME:
            yield _came(batch)
            continue
        tried = batch.kind in (StepKind.PLACED, StepKind.NO_PLACE, StepKind.NOMINATED)
        if asleep is not None and tried:
            yield from _woken(asleep, batch.time, news)
            asleep = None
        if batch.kind is StepKind.NO_PLACE:
            fact, cures = _declined(batch)
            asleep = batch.time, cures
            yield fact
        elif batch.kind is StepKind.BOUND:
            yield _bound(batch, node, ours=placed)
        else:
            yield _plain(batch, node)
        if batch.kind in _HOLDS:
            placed = _HOLDS[batch.kind]


def _came(batch: StepBatch) -> StepFact:
    if batch.detail == "gated":
        return StepFact(batch.time, "seen", "the pod came", "a scheduling gate held it")
    return StepFact(batch.time, "seen", "the pod came")


def _declined(batch: StepBatch) -> tuple[StepFact, int]:
    """An attempt that found no node, with the events that it then waited for."""
    bits, _, message = batch.detail.partition(" ")
    cures = int(bits or 0)
    words = event_names(cures)
    waits = f"it sleeps until {_or(words)}" if words else "it is tried again after a delay"
    said = f": {message}" if message else ""
    return StepFact(
        batch.time, "no place", f"shard {batch.shard} found no node{said}", waits
    ), cures


def _woken(asleep: tuple[float, int], until: float, news: WakeEvents) -> Iterator[StepFact]:
    """What woke it: the last event before the next attempt that could cure its "no"."""
    since, cures = asleep
    place = bisect_left(news.at, until)
    while place < len(news.at) and news.at[place] <= until:
        place += 1
    while place > 0 and news.at[place - 1] >= since:
        place -= 1
        bits = news.bits[place] & cures
        if bits:
            words = [text for bit, text in _HAPPENED.items() if bits & bit]
            yield StepFact(news.at[place], "woken", _or(words, "and"))
            return
    yield StepFact(until, "woken", "its delay was over, or it was looked at again to be safe")


def _bound(batch: StepBatch, node: str, *, ours: bool) -> StepFact:
    where = node or "a node that is gone"
    if ours:
        return StepFact(batch.time, "bound", f"the store shows it on {where}")
    return StepFact(batch.time, "bound", f"on {where}", "somebody else bound it")


def _plain(batch: StepBatch, node: str) -> StepFact:
    """A step that needs no more than its own batch."""
    time, by = batch.time, f"shard {batch.shard}"
    if batch.kind is StepKind.PLACED:
        return StepFact(time, "placed", f"on {node or 'a node that is gone'} by {by}")
    if batch.kind is StepKind.REFUSED:
        whose = f"the claim of {by}" if batch.shard >= 0 else "the claim"
        return StepFact(time, "refused", f"{whose}: {batch.detail}", "it is tried again")
    if batch.kind is StepKind.GIVEN_UP:
        return StepFact(time, "given up", batch.detail)
    if batch.kind is StepKind.NOMINATED:
        kept = f"{node or 'a node that is gone'} is kept for it by {by}"
        return StepFact(time, "nominated", kept, "others must leave that node first")
    if batch.kind is StepKind.ASKED_TO_LEAVE:
        why = f"{batch.detail} needs the room and has a higher priority"
        return StepFact(time, "preempted", "it was asked to leave its node", why)
    if batch.kind is StepKind.RELEASED:
        return StepFact(time, "released", "it wants a node again", "its node or its claim was lost")
    if batch.kind is StepKind.CHANGED:
        return StepFact(time, "changed", "a gate, a label or an annotation of it changed")
    return StepFact(time, "left", "it ended or was deleted")


def _or(words: Sequence[str], last: str = "or") -> str:
    """Words as a list in a sentence."""
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
