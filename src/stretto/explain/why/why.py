"""Why a pod is pending, or why it is where it is: the questions behind ``stretto explain``.

An explanation is a value with stable codes and whole sentences; how it is laid out is the command
line's business. It is worked out on the state that the scene shows, by the rules' own functions.
"""

from functools import reduce
from operator import or_
from typing import Final

import msgspec
import numpy as np

from stretto.explain.records.steps import StepFact
from stretto.explain.why.cures import Remedy, cures_for, cures_of_unit
from stretto.explain.why.forbidden import PreemptionFacts, forbidden_preemption
from stretto.explain.why.gangs import GangFacts, gang_of
from stretto.explain.why.inquiry import Inquiry, NearFacts, Overlap, ReasonFacts
from stretto.explain.why.parts import TOP, NodeScores, ScoredNode, view_without
from stretto.explain.why.pending import PodFindings, reasons_of
from stretto.explain.why.queues import ShareFacts, share_of
from stretto.explain.why.scene import Scene
from stretto.explain.words.amounts import format_amount, format_count
from stretto.explain.words.reasons import Reason
from stretto.explain.words.standing import UnitFacts
from stretto.framework.compiled.ties import TieRule
from stretto.framework.contract.rule import View
from stretto.framework.engine.diagnosis import diagnose
from stretto.state.classes.table import PodClass
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT

SCHEMA: Final = "stretto.explain/v1"
"""Version of the form below as JSON."""
NEAREST: Final = 5
"""Nearest nodes that are shown."""
TIE_WORDS: Final = {
    TieRule.ROTATE: "zones take turns",
    TieRule.ORDER: "a fixed order of the nodes",
    TieRule.NAME: "the smallest name",
    TieRule.RANDOM: "a draw",
}


class RequestedAmount(msgspec.Struct, frozen=True):
    """One amount that a pod asks for."""

    #: Name of the resource.
    resource: str
    #: Exact amount.
    amount: int
    #: The same in human units.
    text: str


class NodesVerdict(msgspec.Struct, frozen=True):
    """What all nodes say to a pod."""

    #: Nodes looked at.
    total: int
    #: Nodes that every rule allows.
    available: int
    #: kube-scheduler's sentence: each node under its first refusal.
    message: str
    #: Every reason with its counts; a node is counted under each.
    reasons: tuple[ReasonFacts, ...]
    #: The commonest combinations of reasons.
    overlaps: tuple[Overlap, ...]
    #: Refusing nodes that come closest.
    nearest: tuple[NearFacts, ...]


class NodeChoice(msgspec.Struct, frozen=True):
    """The nodes that a pod may choose from, by score."""

    #: How the chosen node, or the first choice, compares: for people.
    sentence: str
    #: What the scores were worked out on.
    basis: str
    #: Nodes that fit.
    feasible: int
    #: Nodes that share the best score.
    tied: int
    #: How equal scores are told apart.
    tie_rule: str
    #: The best of them, and the chosen one.
    top: tuple[ScoredNode, ...]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of why a pod is where it is, or nowhere."""

    #: ``namespace/name``.
    pod: str
    #: Where it is on its walk: ``bound``, ``pending``, ``unschedulable``, ...
    state: str
    #: Its node; empty for none.
    node: str = ""
    #: Its priority.
    priority: int = 0
    #: What it asks for.
    asks: tuple[RequestedAmount, ...] = ()
    #: The reason to look at first; ``None`` for a pod that has a node.
    dominant: Reason | None = None
    #: Every reason, the dominant one first.
    reasons: tuple[Reason, ...] = ()
    #: What the nodes say; ``None`` for a pod that has one.
    nodes: NodesVerdict | None = None
    #: What would help.
    cures: tuple[Remedy, ...] = ()
    #: Its unit; ``None`` where there is nothing to say of it.
    unit: UnitFacts | None = None
    #: Why nobody's leaving would help; ``None`` where it may, or where it is said elsewhere.
    preemption: PreemptionFacts | None = None
    #: Sub-cluster whose loop places it; empty for the loop that sees every node.
    sub_cluster: str = ""
    #: How far its gang would come now; ``None`` for pods that start alone.
    gang: GangFacts | None = None
    #: How its queue stood, and who held what that is owed; ``None`` where nobody counts.
    share: ShareFacts | None = None
    #: The nodes it chose from, or could choose from now; ``None`` where none fits.
    choice: NodeChoice | None = None
    #: What happened to it, as far as it was noted.
    steps: tuple[StepFact, ...] = ()
    #: Attempts to place it that came to nothing; without notes those since the last success.
    failed_attempts: int = 0


class NodeExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why a pod is not on one node."""

    #: ``namespace/name``.
    pod: str
    #: The node asked about.
    node: str
    #: Whether every rule allows it there.
    fits: bool
    #: The answer in a sentence.
    sentence: str
    #: All that stands in the way there; ``None`` where nothing does.
    refusal: NearFacts | None = None
    #: Its score there; ``None`` where it does not fit.
    score: ScoredNode | None = None
    #: The node it is on, with its score; ``None`` while it is on none.
    chosen: ScoredNode | None = None
    #: Nodes that fit.
    feasible: int = 0
    #: What the answer was worked out on.
    basis: str = ""


class _PodQuestion(msgspec.Struct, frozen=True):
    """A pod, and a look at the nodes that it is judged by."""

    #: Its row.
    row: int
    #: Its class.
    pod: PodClass
    #: The slot it is on, or -1.
    slot: int
    #: The columns, without the pod itself.
    view: View
    #: What all nodes say.
    inquiry: Inquiry
    #: What the columns show, in words.
    basis: str


def explain_pod(scene: Scene, name: str) -> Explanation:
    """Why a pod is pending, or why it is where it is.

    Args:
        scene: a plane as it is, or a record.
        name: ``name`` or ``namespace/name``.

    Raises:
        NotFoundError: there is no such pod.
    """
    other = scene.other(name)
    if other is not None:
        key, why = other
        return Explanation(pod=key, state="not handled", dominant=why, reasons=(why,))
    asked = _question(scene, name)
    return _placed(scene, asked) if asked.slot != NO_SLOT else _pending(scene, asked)


def explain_pod_on(scene: Scene, name: str, node: str) -> NodeExplanation:
    """Why a pod is not on a node, or how that node compares with the one it is on.

    Raises:
        NotFoundError: there is no such pod or node.
    """
    asked = _question(scene, name)
    slot = scene.slot_of(node)
    pod = scene.cluster.pods.key(asked.row)
    place = int(np.searchsorted(asked.inquiry.slots, slot))
    chosen, feasible = None, int(asked.inquiry.fits.sum())
    scores = NodeScores(scene.rules(asked.row)[1], asked.pod, asked.view, _feasible(asked))
    mine = np.flatnonzero(scores.slots == asked.slot)
    if len(mine):
        chosen = scores.node(int(mine[0]), asked.slot)
    if not asked.inquiry.fits[place]:
        refusal = asked.inquiry.near(place)
        return NodeExplanation(
            pod=pod,
            node=node,
            fits=False,
            sentence=_refused(pod, refusal),
            refusal=refusal,
            chosen=chosen,
            feasible=feasible,
            basis=asked.basis,
        )
    score = scores.node(int(np.flatnonzero(scores.slots == slot)[0]), asked.slot)
    return NodeExplanation(
        pod=pod,
        node=node,
        fits=True,
        sentence=_compared(score, chosen, feasible) if chosen else _held(scene, asked, score),
        score=score,
        chosen=chosen,
        feasible=feasible,
        basis=asked.basis,
    )


# ---------------------------------------------------------------- the parts


def _failed(steps: tuple[StepFact, ...], unit: UnitFacts | None) -> int:
    """Attempts of a pod that came to nothing."""
    if steps:
        return sum(step.step in ("no place", "refused") for step in steps)
    return unit.attempts if unit is not None else 0


def _question(scene: Scene, name: str) -> _PodQuestion:
    row = scene.row_of(name)
    cluster = scene.cluster
    pod = cluster.classes[int(cluster.pods.class_id[row])]
    slot = int(cluster.pods.slot[row])
    view = scene.view() if slot == NO_SLOT else view_without(scene, row)
    inquiry = Inquiry(scene.rules(row)[0], pod, view, cluster.nodes.live_slots())
    out = ", with this pod taken out of its node" if slot != NO_SLOT else ""
    return _PodQuestion(row, pod, slot, view, inquiry, scene.when + out)


def _feasible(asked: _PodQuestion) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    found = asked.inquiry.slots[asked.inquiry.fits]
    if asked.slot != NO_SLOT and asked.slot not in found:
        found = np.append(found, asked.slot)
    return found


def _placed(scene: Scene, asked: _PodQuestion) -> Explanation:
    """A pod that has a node: what it chose from."""
    scores = NodeScores(scene.rules(asked.row)[1], asked.pod, asked.view, _feasible(asked))
    return msgspec.structs.replace(
        _head(scene, asked),
        choice=_choice(scene, asked, scores),
        unit=scene.notes.unit_of(asked.row),
    )


def _pending(scene: Scene, asked: _PodQuestion) -> Explanation:
    """A pod that has none: everything that stands in the way, and what would help."""
    inquiry = asked.inquiry
    unit = scene.notes.unit_of(asked.row)
    gang = gang_of(scene, asked.row, unit)
    steps = scene.notes.steps_of(asked.row)
    state = PodState(int(scene.cluster.pods.state[asked.row]))
    alone = PodFindings(state, steps, scene.gates.get(scene.cluster.pods.key(asked.row), ()))
    reasons = reasons_of(inquiry, alone, unit, gang)
    near = inquiry.nearest(NEAREST)
    filters, weighed = scene.rules(asked.row)
    said = diagnose(filters, asked.pod, asked.view, inquiry.slots, nearest=0)
    fits = inquiry.fits
    cures: tuple[Remedy, ...] = ()
    if unit is not None:
        cures = cures_of_unit(unit, scene.groups)
    if not fits.any():
        cures += cures_for(inquiry, near, _cure_bits(scene, asked))
    elif gang is not None and not cures:
        cures = gang.cures
    scores = NodeScores(weighed, asked.pod, asked.view, inquiry.slots[fits])
    forbidden = None if fits.any() else forbidden_preemption(scene, asked.row)
    return msgspec.structs.replace(
        _head(scene, asked),
        dominant=reasons[0],
        reasons=reasons,
        nodes=NodesVerdict(
            total=said.total,
            available=said.available,
            message=f"{said.message} {forbidden.message}" if forbidden else said.message,
            reasons=inquiry.reasons(),
            overlaps=inquiry.overlaps(),
            nearest=near,
        ),
        cures=cures,
        preemption=forbidden,
        unit=unit,
        sub_cluster=scene.sub_cluster(asked.row),
        gang=gang,
        share=share_of(unit.queue, scene.queues) if unit is not None else None,
        choice=_choice(scene, asked, scores) if fits.any() else None,
    )


def _cure_bits(scene: Scene, asked: _PodQuestion) -> int:
    """``Remedy`` bits of all that stands in the way; a pod's volumes are not known by its class."""
    by_class = 0 if scene.profile.exact else int(scene.engine.cures_of(asked.pod.id))
    return reduce(or_, (int(each.rule.CURES) for each in asked.inquiry.refused), by_class)


def _head(scene: Scene, asked: _PodQuestion) -> Explanation:
    """Who the pod is and what it asks for."""
    cluster, row = scene.cluster, asked.row
    names = cluster.ledger.resources.names
    asks = [RequestedAmount(names[c], n, format_amount(names[c], n)) for c, n in asked.pod.requests]
    for request in asked.pod.devices:
        text = format_amount(request.kind, request.count)
        if request.milli < 1000:
            text = f"{request.milli} thousandths of one {request.kind}"
        if request.models:
            text += f" of model {' or '.join(request.models)}"
        asks.append(RequestedAmount(request.kind, request.count, text))
    return Explanation(
        pod=cluster.pods.key(row),
        state=PodState(int(cluster.pods.state[row])).name.lower(),
        node=cluster.node_of(row),
        priority=int(cluster.pods.priority[row]),
        asks=tuple(asks),
        steps=(steps := scene.notes.steps_of(row)),
        failed_attempts=_failed(steps, scene.notes.unit_of(row)),
    )


def _choice(scene: Scene, asked: _PodQuestion, scores: NodeScores) -> NodeChoice:
    top, tied = scores.top(TOP, asked.slot), scores.tied
    chosen = next((each for each in top if each.chosen), None)
    return NodeChoice(
        sentence=_chosen(chosen, top[0], tied) if top else "",
        basis=asked.basis,
        feasible=len(scores.slots),
        tied=tied,
        tie_rule=TIE_WORDS[scene.profile.ties],
        top=top,
    )


def _chosen(chosen: ScoredNode | None, best: ScoredNode, tied: int) -> str:
    """How the chosen node compares with the best, in a sentence."""
    shared = f" (shared by {format_count(tied, 'node')})" if tied > 1 else ""
    if chosen is None:
        return f"{best.node} would be the first choice now, with score {best.total}{shared}."
    if chosen.rank == 1:
        return f"{chosen.node} has the best score, {chosen.total}{shared}."
    return (
        f"{chosen.node} was chosen earlier; by what is there now {best.node} would score "
        f"better ({best.total} against {chosen.total})."
    )


def _refused(pod: str, refusal: NearFacts) -> str:
    """Why not there, in a sentence."""
    lacks = [lack.text for lack in refusal.lacks]
    plain = [text for text in refusal.words if not text.startswith(("Insufficient", "Too many"))]
    ever = "" if refusal.resolvable else " It would not fit there even if the node were empty."
    return f"{pod} does not fit on {refusal.node}: {'; '.join([*plain, *lacks])}.{ever}"


def _ranked(score: ScoredNode, feasible: int) -> str:
    return f"{score.node} fits, with score {score.total} and rank {score.rank} of {feasible:,}"


def _held(scene: Scene, asked: _PodQuestion, score: ScoredNode) -> str:
    """Why a pod without a node is not on one that fits, in two sentences."""
    feasible = int(asked.inquiry.fits.sum())
    others = format_count(feasible - 1, "other node")
    why = _pending(scene, asked).reasons[0].sentence
    return f"{_ranked(score, feasible)}; it fits on {others} too. {why}"


def _compared(score: ScoredNode, chosen: ScoredNode, feasible: int) -> str:
    """How a node that fits compares with the chosen one, in a sentence."""
    place = _ranked(score, feasible)
    if score.chosen:
        return f"It is on {score.node}, which has score {score.total} and rank {score.rank}."
    if chosen.total == score.total:
        return f"{place}: as good as {chosen.node}, where it is; the tie rule chose that one."
    better = "better" if score.total > chosen.total else "worse"
    return f"{place}: {better} now than {chosen.node}, where it is (score {chosen.total})."
