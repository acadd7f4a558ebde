"""A pod to explain, evaluated on every node of a scene, and the common parts of explanations."""

from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.explain.why.answers import Explanation, NodeChoice, RequestedAmount
from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.parts import TOP, NodeScores, ScoredNode, view_without
from stretto.explain.why.pending import failed_attempts, promise_of
from stretto.explain.why.scene import Scene
from stretto.explain.words.amounts import format_amount, format_count
from stretto.framework.compiled.ties import TieRule
from stretto.framework.contract.rule import View
from stretto.state.classes.table import PodClass
from stretto.state.rows.devices import WHOLE
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT

TIE_WORDS: Final = {
    TieRule.ROTATE: "rotating over zones",
    TieRule.ORDER: "node order",
    TieRule.NAME: "the lowest node name",
    TieRule.RANDOM: "a random draw",
}


class PodQuestion(msgspec.Struct, frozen=True):
    """A pod with the view on which it is evaluated."""

    #: Row of the pod.
    row: int
    #: Class of the pod.
    pod: PodClass
    #: Slot of the pod's node, or -1.
    slot: int
    #: Columns without the pod itself.
    view: View
    #: Verdicts of all nodes.
    inquiry: Inquiry
    #: State that the view shows, as text.
    basis: str

    @property
    def is_placed(self) -> bool:
        """True if the pod has a node."""
        return self.slot != NO_SLOT

    def feasible(self) -> npt.NDArray[np.int64]:
        """int64[k]: slots that fit, and the pod's own slot."""
        found: npt.NDArray[np.int64] = self.inquiry.slots[self.inquiry.fits]
        if self.is_placed and self.slot not in found:
            found = np.append(found, self.slot)
        return found


def question_of(scene: Scene, name: str) -> PodQuestion:
    """Evaluate a pod on every node; a pod that has a node is first removed from it.

    Raises:
        NotFoundError: no such pod.
    """
    row = scene.row_of(name)
    cluster = scene.cluster
    pod = cluster.classes[int(cluster.pods.class_id[row])]
    slot = int(cluster.pods.slot[row])
    view = scene.view() if slot == NO_SLOT else view_without(scene, row)
    inquiry = Inquiry(scene.rules(row)[0], pod, view, cluster.nodes.live_slots())
    removed = " without this pod" if slot != NO_SLOT else ""
    return PodQuestion(row, pod, slot, view, inquiry, scene.when + removed)


def head_of(scene: Scene, question: PodQuestion) -> Explanation:
    """The pod's identity, state and requests."""
    cluster, row = scene.cluster, question.row
    names = cluster.ledger.resources.names
    requests = question.pod.requests
    amounts = [RequestedAmount(names[c], n, format_amount(names[c], n)) for c, n in requests]
    for request in question.pod.devices:
        text = format_amount(request.kind, request.count)
        if request.milli < WHOLE:
            text = f"{request.milli} thousandths of one {request.kind}"
        if request.models:
            text += f" of model {' or '.join(request.models)}"
        amounts.append(RequestedAmount(request.kind, request.count, text))
    steps, promise = scene.notes.steps_of(row), promise_of(cluster, row)
    return Explanation(
        pod=cluster.pods.key(row),
        state=PodState(int(cluster.pods.state[row])).name.lower(),
        node=cluster.node_of(row),
        priority=int(cluster.pods.priority[row]),
        requests=tuple(amounts),
        steps=steps,
        dominant=promise,
        reasons=() if promise is None else (promise,),
        failed_attempts=failed_attempts(steps, scene.notes.unit_of(row)),
    )


def choice_of(scene: Scene, question: PodQuestion, scores: NodeScores) -> NodeChoice:
    """Fitting nodes by score."""
    top, tied = scores.top(TOP, question.slot), scores.tied
    chosen = next((each for each in top if each.chosen), None)
    compared = _compared(chosen, top[0], tied) if top else ""
    return NodeChoice(
        sentence=_refused_now(question) or compared,
        basis=question.basis,
        feasible=len(scores.slots),
        tied=tied,
        tie_rule=TIE_WORDS[scene.profile.ties],
        top=top,
    )


def _refused_now(question: PodQuestion) -> str:
    """Reasons why the node of a placed pod would refuse it now, as a sentence; empty for none."""
    place = int(np.searchsorted(question.inquiry.slots, question.slot))
    if not question.is_placed or question.inquiry.fits[place]:
        return ""
    found = question.inquiry.near(place)
    return f"{found.node} would refuse the pod now: {'; '.join(found.obstacles)}."


def _compared(chosen: ScoredNode | None, best: ScoredNode, tied: int) -> str:
    """Compare the chosen node with the best one."""
    shared = f" (shared by {format_count(tied, 'node')})" if tied > 1 else ""
    if chosen is None:
        return f"{best.node} is the best choice now, with score {best.total}{shared}."
    if chosen.rank == 1:
        return f"{chosen.node} has the best score, {chosen.total}{shared}."
    return (
        f"{chosen.node} was chosen earlier; {best.node} would score higher now "
        f"({best.total} against {chosen.total})."
    )
