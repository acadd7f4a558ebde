"""Explanations of several pods at once: the pods of a unit or queue, or all pending pods."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from stretto.api.wire.kinds import POD
from stretto.control.dispatcher.usage_report import QueueFacts
from stretto.explain.inventory.causes import FITS, PLACED, PendingCause, causes_of, pending_rows
from stretto.explain.inventory.pods import FITS_NOW
from stretto.explain.inventory.subjects import unit_keys
from stretto.explain.why.answers import Explanation
from stretto.explain.why.queues import ShareFacts, share_of
from stretto.explain.why.scene import Scene
from stretto.explain.why.why import explain_pod
from stretto.explain.words.standing import UnitFacts
from stretto.stores.store import Record

PENDING_SCHEMA: Final = "stretto.explain.pending/v1"
UNIT_SCHEMA: Final = "stretto.explain.unit/v1"
QUEUE_SCHEMA: Final = "stretto.explain.queue/v1"


class PendingOverview(msgspec.Struct, frozen=True):
    """All pending pods by cause."""

    #: Number of pods.
    pods: int
    #: Number of pending pods.
    pending: int
    #: Causes, ordered by number of pods, descending.
    causes: tuple[PendingCause, ...]


class UnitOverview(msgspec.Struct, frozen=True):
    """Reasons why a PodGroup or another unit is pending, or the nodes of its pods."""

    #: Key of the unit, ``Kind/namespace/name``.
    unit: str
    #: Facts about the unit; ``None`` if there is nothing to report.
    facts: UnitFacts | None
    #: Pods of the unit with a node: ``namespace/name`` to node.
    placed: dict[str, str]
    #: Number of pending pods of the unit.
    pending: int
    #: Causes of the pending pods.
    causes: tuple[PendingCause, ...]
    #: Explanation of the first pending pod, with the gang as a whole; ``None`` if all pods have a
    #: node.
    example: Explanation | None = None


class QueueOverview(msgspec.Struct, frozen=True):
    """State of a queue, and the causes of its pending pods."""

    #: Usage, guarantee and limit of the queue.
    queue: QueueFacts
    #: Guarantee compared with usage, and the queues that borrow from it; ``None`` if unknown.
    share: ShareFacts | None
    #: Number of pending pods of the queue and of the queues below it.
    pending: int
    #: Causes of these pods.
    causes: tuple[PendingCause, ...]


def explain_pending_pods(
    scene: Scene, records: Sequence[Record], keep: Callable[[str], bool] = bool
) -> PendingOverview:
    """Explain all pending pods, grouped by cause.

    Args:
        scene: the state.
        records: its objects.
        keep: predicate on ``namespace/name``: true for the pods to count.
    """
    pods = [each for each in records if each.kind == POD and keep(_key(each))]
    unbound = [each for each in pods if not each.node]
    rows, fitting, unhandled = [], [], []
    for each in unbound:
        row = scene.cluster.pods.row(each.uid)
        if row is None:
            unhandled.append(_key(each))
        elif scene.cluster.pods.state[row] in PLACED:
            fitting.append(_key(each))
        else:
            rows.append(row)
    causes = [*causes_of(scene, rows), *_unhandled(scene, unhandled)]
    if fitting:
        causes.append(PendingCause(FITS, "", FITS_NOW, len(fitting), tuple(fitting)))
    causes.sort(key=lambda each: (-each.pods, each.code))
    return PendingOverview(len(pods), sum(each.pods for each in causes), tuple(causes))


def _unhandled(scene: Scene, keys: Sequence[str]) -> list[PendingCause]:
    """Causes of pods that the scheduler does not handle; ended pods are not pending."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for key in keys:
        why = explain_pod(scene, key).dominant if key in scene.objects.unhandled else None
        fault = scene.cluster.abnormal.get(f"pod {key}")
        if why is not None and why.code.value != "ended":
            found.setdefault((why.code.value, why.tier.value, why.sentence), []).append(key)
        elif fault is not None:
            found.setdefault(("unreadable", "misconfigured", f"{fault}."), []).append(key)
    return [
        PendingCause(code, tier, sentence, len(names), tuple(names))
        for (code, tier, sentence), names in found.items()
    ]


def explain_unit(scene: Scene, records: Sequence[Record], key: str) -> UnitOverview:
    """Explain why a unit is pending, or list the nodes of its pods.

    Args:
        scene: the state.
        records: its objects.
        key: the key of the unit.
    """
    pods = scene.cluster.pods
    rows = [row for row, unit in unit_keys(scene, records).items() if unit == key]
    facts = next((unit for row in rows if (unit := scene.notes.unit_of(row)) is not None), None)
    waiting = [row for row in rows if pods.state[row] not in PLACED]
    example = explain_pod(scene, pods.key(waiting[0])) if waiting else None
    return UnitOverview(
        unit=key,
        facts=facts,
        placed={pods.key(row): scene.cluster.node_of(row) for row in rows if row not in waiting},
        pending=len(waiting),
        causes=causes_of(scene, waiting),
        example=example,
    )


def explain_queue(scene: Scene, name: str) -> QueueOverview:
    """Describe a queue and explain why its pods and those of its descendants are pending.

    Args:
        scene: the state.
        name: a queue of the scene.
    """
    below = {name}
    for queue in scene.queues:  # parents come before their children
        if queue.parent in below or (name == "root" and not queue.parent):
            below.add(queue.name)
    rows = [row for row in pending_rows(scene) if _queue_of(scene, row) in below]
    return QueueOverview(
        queue=next(each for each in scene.queues if each.name == name),
        share=share_of(name, scene.queues),
        pending=len(rows),
        causes=causes_of(scene, rows),
    )


def _queue_of(scene: Scene, row: int) -> str:
    unit = scene.notes.unit_of(row)
    return "default" if unit is None else unit.queue


def _key(record: Record) -> str:
    return f"{record.namespace}/{record.name}"
