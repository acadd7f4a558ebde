"""Pods without a node, counted by why: one pod of each kind is asked, and speaks for the others.

Pods that want the same and stand at the same place wait for the same reason, so a million of them
cost as many questions as there are kinds. The commonest kinds are asked; the rest is counted.
"""

from collections import Counter
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.explain.why.gangs import gang_of
from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.pending import PodFindings, reasons_of
from stretto.explain.why.scene import Scene
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.sources.unhandled import not_handled, unhandled_pod
from stretto.explain.words.reasons import Reason, ReasonCode, reason
from stretto.explain.words.standing import facts_of, quota_message
from stretto.framework.contract.rule import View
from stretto.plane.plane import Plane
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.units import Unit
from stretto.stores.store import Record

ASKED: Final = 200
"""Kinds of pods that are asked: at 20,000 nodes a second or two."""
GANGS_ASKED: Final = 20
"""Gangs that are asked how far they would come: each costs a placement of its own."""
NOT_ASKED: Final = "not looked at"
"""Word for the pods of rarer kinds."""
_PLACED: Final = (PodState.ASSUMED, PodState.BOUND, PodState.GONE)
_ROOM: Final = (
    ReasonCode.NO_ROOM,
    ReasonCode.TOO_BIG,
    ReasonCode.VOLUME_CLAIMS,
    ReasonCode.VOLUMES,
    ReasonCode.OTHER_PODS,
)


class PendingPods(msgspec.Struct, frozen=True, gc=False):
    """Pods that wait for one reason."""

    #: Stable code of the reason (``no-room``, ``gang-short``, ...), or ``not looked at``.
    code: str
    #: The commonest refusal of the nodes in Kubernetes' words; empty where nodes are no obstacle.
    refusal: str
    #: How many pods.
    pods: int
    #: One of them, as ``namespace/name``.
    example: str
    #: What is in its way, in a sentence.
    sentence: str


def waiting_pods(plane: Plane) -> tuple[PendingPods, ...]:
    """The pods without a node by reason, the commonest first."""
    pods = plane.cluster.pods
    states = pods.state[: pods.length]
    rows = np.flatnonzero(~np.isin(states, [int(state) for state in _PLACED]))
    if not len(rows):
        return ()
    kinds = [(members[0], len(members)) for members in kinds_of(plane, rows)]
    asker = PendingExplainer(plane)
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], tuple[int, str]] = {}
    for number, (row, count) in enumerate(kinds):
        code, refusal, sentence = NOT_ASKED, "", ""
        if number < ASKED:
            said = asker.ask(row)
            code, refusal, sentence = said.reason.code.value, said.refusal, said.reason.sentence
        counts[code, refusal] += count
        first.setdefault((code, refusal), (row, sentence))
    return tuple(
        PendingPods(
            code, refusal, count, pods.key(first[code, refusal][0]), first[code, refusal][1]
        )
        for (code, refusal), count in counts.most_common()
    )


class PendingAnswer(NamedTuple):
    """What one pod of a kind was told."""

    #: The dominant reason.
    reason: Reason
    #: The commonest refusal of the nodes in Kubernetes' words; empty where nodes are no obstacle.
    refusal: str
    #: kube-scheduler's sentence about all nodes.
    message: str


def kinds_of(plane: Plane, rows: npt.NDArray[np.int64]) -> list[list[int]]:
    """Rows of pods that wait for the same reason, the commonest kind first."""
    pods, units = plane.cluster.pods, plane.units
    found: dict[tuple[object, ...], list[int]] = {}
    classes, states = pods.class_id[rows].tolist(), pods.state[rows].tolist()
    for row, class_id, state in zip(rows.tolist(), classes, states, strict=True):
        unit = units.of_row(row)
        place = (unit.state, unit.min_member, unit.is_complete) if unit is not None else ()
        found.setdefault((class_id, state, *place), []).append(row)
    return sorted(found.values(), key=len, reverse=True)


class PendingExplainer:
    """Asks single pods why they wait."""

    def __init__(self, plane: Plane) -> None:
        """Ask about a plane as it is now."""
        self._plane = plane
        self._scene: Scene = live_scene(plane.cluster, plane.config.profile, plane.units)
        self._view: View = self._scene.view()
        self._slots = plane.cluster.nodes.live_slots()
        self._gangs = 0

    def ask(self, row: int) -> PendingAnswer:
        """What one pod is told."""
        cluster = self._plane.cluster
        pod = cluster.classes[int(cluster.pods.class_id[row])]
        inquiry = Inquiry(self._scene.rules(row)[0], pod, self._view, self._slots)
        unit = self._plane.units.of_row(row)
        views = self._plane.dispatcher.views
        quota = quota_message(views, unit) if unit is not None else ""
        facts = None
        if unit is not None:
            facts = facts_of(unit, (0, 0), failure=views.failure(unit), quota=quota)
        gang = gang_of(self._scene, row, facts) if self._may_explain_gang(unit) else None
        state = PodState(int(cluster.pods.state[row]))
        found = reasons_of(inquiry, PodFindings(state), facts, gang)
        said = inquiry.reasons()
        refusal = said[0].reason if found[0].code in _ROOM and said else ""
        return PendingAnswer(found[0], refusal, inquiry.message())

    def stranger(self, record: Record) -> Reason:
        """Why the plane does not know a pod that exists."""
        why = not_handled(record, self._plane.cluster.config.scheduler_names)
        if why is not None:
            return why
        other = unhandled_pod(
            self._scene.objects, self._plane.cluster, f"{record.namespace}/{record.name}"
        )
        return other[1] if other else reason(ReasonCode.QUEUED, "It has not been seen yet.")

    def _may_explain_gang(self, unit: Unit | None) -> bool:
        if unit is None or not unit.is_gang:
            return False
        self._gangs += 1
        return self._gangs <= GANGS_ASKED
