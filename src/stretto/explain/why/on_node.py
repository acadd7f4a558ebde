"""Explains why a pod is not on one particular node, or compares that node with the pod's own."""

import numpy as np

from stretto.explain.why.answers import NodeExplanation
from stretto.explain.why.inquiry import NearFacts
from stretto.explain.why.parts import NodeScores, ScoredNode
from stretto.explain.why.question import PodQuestion, question_of
from stretto.explain.why.scene import Scene
from stretto.explain.why.why import explain_pending
from stretto.explain.words.amounts import format_count


def explain_pod_on(scene: Scene, name: str, node: str) -> NodeExplanation:
    """Explain why a pod is not on a node, or compare that node with the pod's own.

    Args:
        scene: a running plane or a record.
        name: ``name`` or ``namespace/name``.
        node: name of the node.

    Raises:
        NotFoundError: no such pod or node.
    """
    question = question_of(scene, name)
    slot = scene.slot_of(node)
    pod = scene.cluster.pods.key(question.row)
    place = int(np.searchsorted(question.inquiry.slots, slot))
    chosen, feasible = None, int(question.inquiry.fits.sum())
    weighted = scene.rules(question.row)[1]
    scores = NodeScores(weighted, question.pod, question.view, question.feasible())
    own = np.flatnonzero(scores.slots == question.slot)
    if len(own):
        chosen = scores.node(int(own[0]), question.slot)
    if not question.inquiry.fits[place]:
        refusal = question.inquiry.near(place)
        return NodeExplanation(
            pod=pod,
            node=node,
            fits=False,
            sentence=_refused(pod, refusal),
            refusal=refusal,
            chosen=chosen,
            feasible=feasible,
            basis=question.basis,
        )
    score = scores.node(int(np.flatnonzero(scores.slots == slot)[0]), question.slot)
    return NodeExplanation(
        pod=pod,
        node=node,
        fits=True,
        sentence=(
            _compared(score, chosen, feasible) if chosen else _unplaced(scene, question, score)
        ),
        score=score,
        chosen=chosen,
        feasible=feasible,
        basis=question.basis,
    )


def _refused(pod: str, refusal: NearFacts) -> str:
    """Sentence about the obstacles of the pod on the node."""
    lacks = [lack.text for lack in refusal.lacks]
    others = [text for text in refusal.words if not text.startswith(("Insufficient", "Too many"))]
    empty = "" if refusal.resolvable else " It would not fit there even if the node were empty."
    return f"{pod} does not fit on {refusal.node}: {'; '.join([*others, *lacks])}.{empty}"


def _ranked(score: ScoredNode, feasible: int) -> str:
    return f"{score.node} fits, with score {score.total} and rank {score.rank} of {feasible:,}"


def _unplaced(scene: Scene, question: PodQuestion, score: ScoredNode) -> str:
    """Sentence about a pod without a node and a node that fits."""
    others = int(question.inquiry.fits.sum()) - 1
    also = f"{format_count(others, 'other node')} also {'fits' if others == 1 else 'fit'}"
    why = explain_pending(scene, question).reasons[0].sentence
    return f"{_ranked(score, others + 1)}; {also}. {why}"


def _compared(score: ScoredNode, chosen: ScoredNode, feasible: int) -> str:
    """Compare a fitting node with the pod's own."""
    rank = _ranked(score, feasible)
    if score.chosen:
        return f"It is on {score.node}, which has score {score.total} and rank {score.rank}."
    if chosen.total == score.total:
        return f"{rank}: equal to its current node {chosen.node}, which the tie-breaker chose."
    better = "better" if score.total > chosen.total else "worse"
    return f"{rank}: {better} now than its current node {chosen.node} (score {chosen.total})."
