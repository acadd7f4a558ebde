"""Causes of pending pods: all pods that are pending for the same reason form one cause.

Pods with the same class, scheduling state and kind of unit have the same reason. Therefore only one
pod of each group is explained.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from stretto.base.errors import NotFoundError
from stretto.explain.why.scene import Scene
from stretto.explain.why.why import explain_pod
from stretto.explain.words.reasons import Reason
from stretto.explain.words.standing import UnitFacts
from stretto.state.rows.lifecycle import PodState

EXPLAINED: Final = 200
"""Number of groups that are explained, the largest first; the pods of other groups have no reason.
"""
NOT_EXPLAINED: Final = "not explained"
"""Code of pods without a reason, because there are too many groups."""
FITS: Final = "fits"
"""Code of pods that fit now and are not bound yet."""
PLACED: Final = (PodState.ASSUMED, PodState.BOUND, PodState.GONE)
"""States of pods that are not pending."""


class PendingCause(msgspec.Struct, frozen=True):
    """Pods that are pending for one reason."""

    #: Stable code of the reason, ``fits`` or ``not explained``.
    code: str
    #: Tier of the reason; empty for the last two codes.
    tier: str
    #: Reason as a sentence, for the first of the pods.
    sentence: str
    #: Number of pods.
    pods: int
    #: ``namespace/name`` of each pod.
    names: tuple[str, ...]
    #: Queues of the pods.
    queues: tuple[str, ...] = ()


def pending_rows(scene: Scene) -> list[int]:
    """Rows of the pods without a node, in order."""
    pods = scene.cluster.pods
    return [row for row in pods.rows().tolist() if pods.state[row] not in PLACED]


def reasons_by_row(scene: Scene, rows: Iterable[int]) -> dict[int, Reason | None]:
    """Return the dominant reason of each pending pod.

    ``None`` for pods of groups beyond ``EXPLAINED``.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for row in rows:
        groups.setdefault(_cause_key(scene, row), []).append(row)
    found: dict[int, Reason | None] = {}
    for number, members in enumerate(sorted(groups.values(), key=len, reverse=True)):
        why = _dominant(scene, members[0]) if number < EXPLAINED else None
        found |= dict.fromkeys(members, why)
    return found


def causes_of(scene: Scene, rows: Iterable[int]) -> tuple[PendingCause, ...]:
    """The causes of some pending pods, the one with the most pods first."""
    found: dict[str, list[int]] = {}
    reasons = reasons_by_row(scene, rows)
    for row, why in reasons.items():
        found.setdefault(why.code.value if why is not None else NOT_EXPLAINED, []).append(row)
    causes = []
    for code, members in found.items():
        why = reasons[members[0]]
        units = (scene.notes.unit_of(row) for row in members)
        causes.append(
            PendingCause(
                code=code,
                tier=why.tier.value if why is not None else "",
                sentence=why.sentence if why is not None else "",
                pods=len(members),
                names=tuple(scene.cluster.pods.key(row) for row in members),
                queues=tuple(sorted({unit.queue for unit in units if unit is not None})),
            )
        )
    return tuple(sorted(causes, key=lambda each: (-each.pods, each.code)))


def _cause_key(scene: Scene, row: int) -> tuple[object, ...]:
    """Key of the facts that determine the reason of a pending pod."""
    pods = scene.cluster.pods
    return (
        int(pods.class_id[row]),
        int(pods.state[row]),
        *_standing(scene.notes.unit_of(row)),
        scene.objects.gates.get(pods.key(row), ()),
    )


def _standing(unit: UnitFacts | None) -> tuple[object, ...]:
    if unit is None:
        return ()
    return (unit.state, unit.key if unit.is_gang else "", unit.queue, unit.quota, unit.failure)


def _dominant(scene: Scene, row: int) -> Reason | None:
    try:
        return explain_pod(scene, scene.cluster.pods.key(row)).dominant
    except NotFoundError:
        return None
