"""Trials of the scheduler on copies of a state: the number of further copies of a pod that fit."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from stretto.api import codec
from stretto.api.wire.kinds import POD
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.inputs.objects.relations import InputObject
from stretto.plane.copy import PlaneCopy, SchedulingRules, StoreState
from stretto.sim.fitting.changes import NodeChange, changed, kinds_of, nodes_of
from stretto.sim.submission.ephemeral import create_ephemeral_pvcs
from stretto.stores.store import Reply

SCHEMA: Final = "stretto.capacity/v1"
"""Version of the results as JSON."""
FIRST_BATCH: Final = 16
"""Pods of the first attempt; each further attempt doubles the number of pods."""


@dataclass(frozen=True)
class FitQuestion:
    """Input of a trial."""

    #: The state.
    state: StoreState
    #: The pod whose copies are placed.
    pod: InputObject
    #: Rules that replace those of the state; ``None`` for the rules of the state.
    rules: SchedulingRules | None = None
    #: Maximum number of counted copies.
    most: int = 1000


class FitAnswer(msgspec.Struct, frozen=True):
    """Number of further pods that fit."""

    #: The change of the nodes, such as ``now`` or ``without n1``.
    case: str
    #: Copies of the pod that are placed.
    fits: int
    #: True if the limit ended the counting.
    limited: bool = False
    #: Pods of lost nodes that are placed elsewhere.
    moved: int = 0
    #: Pods of lost nodes that stay pending.
    unplaced: int = 0


class NodeOffer(msgspec.Struct, frozen=True):
    """Number of nodes of a kind that are enough."""

    #: The kind: instance type, or allocatable amounts.
    kind: str
    #: A node of that kind.
    like: str
    #: New nodes; ``None`` if the pod does not fit on this kind.
    nodes: int | None


class Compaction(msgspec.Struct, frozen=True):
    """The fewest nodes that are enough for the running pods, with one order of removal."""

    #: Seed of the order.
    seed: int
    #: Number of nodes that are needed.
    nodes: int
    #: Number of nodes of the state.
    of: int


class FitReport(msgspec.Struct, frozen=True):
    """Result of trials: how many more pods fit on a state."""

    #: Title of the state.
    state: str
    #: The pod whose copies are placed, as ``namespace/name``.
    pod: str
    #: Pods that fit, now and after each change of the nodes.
    answers: tuple[FitAnswer, ...]
    #: Number of nodes of each kind that are enough; empty if not requested.
    offers: tuple[NodeOffer, ...] = ()
    #: Number of nodes that are enough for the running pods, by seed.
    compactions: tuple[Compaction, ...] = ()


def fit(question: FitQuestion, change: NodeChange, case: str) -> FitAnswer:
    """Count the copies of the pod that are placed after a change of the nodes.

    Pods that the change displaces are placed first. No running pod is evicted for a copy.

    Raises:
        InputError: the pod cannot be created.
        NotFoundError: the state has no such node.
    """
    before = {each.uid for each in question.state.records if each.kind == POD and each.node}
    copy = PlaneCopy(changed(question.state, change), question.rules)
    displaced = before - _bound(copy)
    copy.settle()
    moved = displaced & _bound(copy)
    present = {each.uid for each in copy.store.list(POD).records}
    placed, created = 0, 0
    while placed == created < question.most:
        batch = min(max(created, FIRST_BATCH), question.most - created)
        fresh = _create(copy, question.pod, created, batch)
        copy.settle()
        created += batch
        placed += len(fresh & _bound(copy))
    left = len((displaced & present) - moved)
    return FitAnswer(case, placed, placed == question.most, len(moved), left)


def nodes_to_buy(question: FitQuestion, wanted: int) -> list[NodeOffer]:
    """The fewest new nodes of each kind with which ``wanted`` copies fit, fewest first."""
    question = FitQuestion(question.state, question.pod, question.rules, wanted)
    kinds = kinds_of(question.state)
    found = [NodeOffer(title, name, _least(question, name)) for name, title in kinds.items()]
    return sorted(found, key=lambda each: (each.nodes is None, each.nodes or 0, each.kind))


def compact(state: StoreState, rules: SchedulingRules | None, seed: int) -> Compaction:
    """Remove nodes in a random order while all running pods still fit when they are placed again.

    Source: cell compaction in Verma et al., "Large-scale cluster management at Google with Borg"
    (2015), section 5.1.
    """
    names = sorted(nodes_of(state))
    order = [names[i] for i in Rng(seed).child("compaction").numpy().permutation(len(names))]
    running = {each.uid for each in state.records if each.kind == POD and each.node}

    def holds(count: int) -> bool:
        change = NodeChange(lost=frozenset(order[count:]), repacked=True)
        copy = PlaneCopy(changed(state, change), rules)
        copy.settle()
        present = {each.uid for each in copy.store.list(POD).records}
        return not (running & present) - _bound(copy)

    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return Compaction(seed, high, len(order))


def _least(question: FitQuestion, like: str) -> int | None:
    def enough(count: int) -> bool:
        change = NodeChange(added={like: count} if count else {})
        return fit(question, change, "").fits >= question.most

    if enough(0):
        return 0
    one = fit(question, NodeChange(added={like: 1}), "").fits
    if one <= fit(question, NodeChange(), "").fits:
        return None
    high = 1
    while not enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _bound(copy: PlaneCopy) -> set[str]:
    return {each.uid for each in copy.store.list(POD).records if each.node}


def _create(copy: PlaneCopy, pod: InputObject, start: int, count: int) -> set[str]:
    """Create copies of the pod; return their uids."""
    bodies = [_body(pod, number) for number in range(start + 1, start + count + 1)]
    replies = copy.store.create(POD, bodies)
    create_ephemeral_pvcs(copy.store, replies)
    return {_uid(reply, pod) for reply in replies}


def _uid(reply: Reply, pod: InputObject) -> str:
    if reply.record is None:
        raise InputError(pod.title, None, "a pod that the store accepts", reply.message)
    return reply.record.uid


def _body(pod: InputObject, number: int) -> bytes:
    body = codec.decode_as(dict[str, Any], pod.body, pod.where)
    body["metadata"]["name"] = f"{pod.name}-copy-{number}"
    body["metadata"].pop("uid", None)
    body["spec"].pop("nodeName", None)
    body["spec"]["preemptionPolicy"] = "Never"
    return msgspec.json.encode(body)
