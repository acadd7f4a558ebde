"""Pods without a node, counted by reason; one pod of each group is explained for all of them.

Pods of the same class and state are pending for the same reason, so the cost depends on the number
of groups and not of pods. The largest groups are explained; the others are only counted.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.explain.why.gangs import gang_of
from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.pending import PodFindings, promise_of, reasons_of
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.sources.unhandled import gates_of, not_handled, unhandled_pod
from stretto.explain.words.reasons import Reason, ReasonCode, reason
from stretto.explain.words.standing import facts_of
from stretto.plane.plane import Plane
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.units import Unit
from stretto.stores.store import Record

EXPLAINED: Final = 200
"""Groups that are explained; with 20,000 nodes this takes one or two seconds."""
EXPLAINED_GANGS: Final = 20
"""Gangs for which a placement is computed to explain them."""
NOT_EXPLAINED: Final = "not looked at"
"""Code of the pods in smaller groups."""
_PLACED: Final = (PodState.ASSUMED, PodState.BOUND, PodState.GONE)
_CAPACITY: Final = (
    ReasonCode.NO_CAPACITY,
    ReasonCode.TOO_BIG,
    ReasonCode.VOLUME_CLAIMS,
    ReasonCode.VOLUMES,
    ReasonCode.OTHER_PODS,
)


class PendingPods(msgspec.Struct, frozen=True, gc=False):
    """Pods that are pending for one reason."""

    #: Stable code of the reason (``no-capacity``, ``gang-short``, ...), or ``not looked at``.
    code: str
    #: The most frequent refusal of the nodes in kube-scheduler's words; empty if the cause is not
    #: on the nodes.
    refusal: str
    #: Number of pods.
    pods: int
    #: One of the pods, as ``namespace/name``.
    example: str
    #: The reason as a sentence.
    sentence: str


def waiting_pods(plane: Plane) -> tuple[PendingPods, ...]:
    """The pods without a node by reason, the most frequent reason first."""
    pods = plane.cluster.pods
    states = pods.state[: pods.length]
    rows = np.flatnonzero(~np.isin(states, [int(state) for state in _PLACED]))
    if not len(rows):
        return ()
    groups = [(members[0], len(members)) for members in pending_groups(plane, rows)]
    explainer = PendingExplainer(plane)
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], tuple[int, str]] = {}
    for number, (row, count) in enumerate(groups):
        code, refusal, sentence = NOT_EXPLAINED, "", ""
        if number < EXPLAINED:
            answer = explainer.explain(row)
            code, refusal = answer.reason.code.value, answer.refusal
            sentence = answer.reason.sentence
        counts[code, refusal] += count
        first.setdefault((code, refusal), (row, sentence))
    return tuple(
        PendingPods(
            code, refusal, count, pods.key(first[code, refusal][0]), first[code, refusal][1]
        )
        for (code, refusal), count in counts.most_common()
    )


class PendingAnswer(NamedTuple):
    """Reason why one pod is pending."""

    #: The dominant reason.
    reason: Reason
    #: The most frequent refusal of the nodes in kube-scheduler's words; empty if the cause is not
    #: on the nodes.
    refusal: str
    #: kube-scheduler's message about all nodes; empty if the pod does not wait for a node.
    message: str


def pending_groups(plane: Plane, rows: npt.NDArray[np.int64]) -> list[list[int]]:
    """Rows of pods that are pending for the same reason, the largest group first."""
    pods, units = plane.cluster.pods, plane.units
    found: dict[tuple[object, ...], list[int]] = {}
    classes, states = pods.class_id[rows].tolist(), pods.state[rows].tolist()
    for row, class_id, state in zip(rows.tolist(), classes, states, strict=True):
        unit = units.of_row(row)
        standing = (unit.state, unit.min_member, unit.is_complete) if unit is not None else ()
        found.setdefault((class_id, state, *standing), []).append(row)
    return sorted(found.values(), key=len, reverse=True)


class PendingExplainer:
    """Explains why single pods are pending."""

    def __init__(self, plane: Plane, records: Iterable[Record] = ()) -> None:
        """Create an explainer for the current state of a plane.

        ``records`` are the pods whose scheduling gates the sentences name.
        """
        self._gates = gates_of(records)
        self._plane = plane
        self._scene = live_scene(plane.cluster, plane.config.profile, plane.units)
        self._view = self._scene.view()
        self._slots = plane.cluster.nodes.live_slots()
        self._gangs = 0

    def explain(self, row: int) -> PendingAnswer:
        """Explain why the pod of a row is pending."""
        cluster = self._plane.cluster
        pod = cluster.classes[int(cluster.pods.class_id[row])]
        inquiry = Inquiry(self._scene.rules(row)[0], pod, self._view, self._slots)
        unit = self._plane.units.of_row(row)
        views = self._plane.dispatcher.views
        facts = None
        if unit is not None:
            facts = facts_of(unit, (0, 0), failure=views.failure(unit), views=views)
        gang = gang_of(self._scene, row, facts) if self._may_explain_gang(unit) else None
        state = PodState(int(cluster.pods.state[row]))
        promise = promise_of(cluster, row)
        if promise is not None:
            return PendingAnswer(promise, "", "")
        gates = self._gates.get(cluster.pods.key(row), ())
        findings = PodFindings(state, gates=gates, cluster=cluster, row=row)
        found = reasons_of(inquiry, findings, facts, gang)
        refusals = inquiry.reasons()
        refusal = refusals[0].reason if found[0].code in _CAPACITY and refusals else ""
        message = "" if found[0].code is ReasonCode.GATED else inquiry.message()
        return PendingAnswer(found[0], refusal, message)

    def explain_unknown(self, record: Record) -> Reason:
        """Explain why an existing pod is not in the plane's cluster state."""
        why = not_handled(record, self._plane.cluster.config.scheduler_names)
        if why is not None:
            return why
        other = unhandled_pod(
            self._scene.objects, self._plane.cluster, f"{record.namespace}/{record.name}"
        )
        return other[1] if other else reason(ReasonCode.QUEUED, "Not read by the scheduler yet.")

    def _may_explain_gang(self, unit: Unit | None) -> bool:
        if unit is None or not unit.is_gang:
            return False
        self._gangs += 1
        return self._gangs <= EXPLAINED_GANGS
