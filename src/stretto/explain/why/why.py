"""Explains why a pod is pending or on its node: the result of ``stretto explain``.

The rules' own functions compute the result on the state that the scene shows.
"""

from typing import Final

import msgspec

from stretto.explain.why.answers import Explanation, NodesVerdict
from stretto.explain.why.cures import cures_of_pod
from stretto.explain.why.forbidden import forbidden_preemption
from stretto.explain.why.gangs import gang_of
from stretto.explain.why.parts import NodeScores
from stretto.explain.why.pending import PodFindings, no_such_node, reasons_of
from stretto.explain.why.question import PodQuestion, choice_of, head_of, question_of
from stretto.explain.why.queues import share_of, sub_cluster_of
from stretto.explain.why.scene import Scene
from stretto.explain.why.sources.unhandled import unhandled_pod
from stretto.framework.engine.diagnosis import diagnose
from stretto.state.rows.lifecycle import PodState

NEAREST: Final = 5
"""Number of nearest nodes shown."""


def explain_pod(scene: Scene, name: str) -> Explanation:
    """Explain why a pod is pending, or why it is on its node.

    Args:
        scene: a running plane or a record.
        name: ``name`` or ``namespace/name``.

    Raises:
        NotFoundError: no such pod.
    """
    unhandled = unhandled_pod(scene.objects, scene.cluster, name)
    if unhandled is not None:
        key, why = unhandled
        return Explanation(pod=key, state="not handled", dominant=why, reasons=(why,))
    question = question_of(scene, name)
    return _placed(scene, question) if question.is_placed else explain_pending(scene, question)


def _placed(scene: Scene, question: PodQuestion) -> Explanation:
    """Explain a pod that has a node: the nodes among which it was chosen."""
    weighted = scene.rules(question.row)[1]
    scores = NodeScores(weighted, question.pod, question.view, question.feasible())
    return msgspec.structs.replace(
        head_of(scene, question),
        choice=choice_of(scene, question, scores),
        unit=scene.notes.unit_of(question.row),
    )


def _on_missing_node(scene: Scene, question: PodQuestion) -> Explanation:
    """Explain a pod that is bound to a node that does not exist."""
    head = head_of(scene, question)
    why = no_such_node(head.node)
    return msgspec.structs.replace(head, dominant=why, reasons=(why,))


def explain_pending(scene: Scene, question: PodQuestion) -> Explanation:
    """Explain a pod without a node: every reason, and what would make it fit."""
    if scene.cluster.pods.state[question.row] == PodState.BOUND:
        return _on_missing_node(scene, question)
    inquiry = question.inquiry
    unit = scene.notes.unit_of(question.row)
    gang = gang_of(scene, question.row, unit)
    steps = scene.notes.steps_of(question.row)
    state = PodState(int(scene.cluster.pods.state[question.row]))
    gates = scene.objects.gates.get(scene.cluster.pods.key(question.row), ())
    findings = PodFindings(state, steps, gates, scene.cluster, question.row)
    reasons = reasons_of(inquiry, findings, unit, gang)
    near = inquiry.nearest(NEAREST)
    filters, weighted = scene.rules(question.row)
    verdict = diagnose(filters, question.pod, question.view, inquiry.slots, nearest=0)
    fits = inquiry.fits
    cures = cures_of_pod(scene, question, unit, gang)
    scores = NodeScores(weighted, question.pod, question.view, inquiry.slots[fits])
    forbidden = None if fits.any() else forbidden_preemption(scene, question.row)
    message = f"{verdict.message} {forbidden.message}" if forbidden else verdict.message
    return msgspec.structs.replace(
        head_of(scene, question),
        dominant=reasons[0],
        reasons=reasons,
        nodes=NodesVerdict(
            total=verdict.total,
            available=verdict.available,
            message=message,
            reasons=inquiry.reasons(),
            overlaps=inquiry.overlaps(),
            nearest=near,
        ),
        cures=cures,
        preemption=forbidden,
        unit=unit,
        sub_cluster=sub_cluster_of(scene, question.row),
        gang=gang,
        share=share_of(unit.queue, scene.queues, unit.reclaim) if unit is not None else None,
        choice=choice_of(scene, question, scores) if fits.any() else None,
    )
