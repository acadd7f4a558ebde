"""Every reason why a pod has no node, each as a sentence with figures."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from stretto.explain.records.steps import FAILED_STEPS, StepFact
from stretto.explain.why.gangs import GangFacts
from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.nodes.details import detailed
from stretto.explain.why.nodes.none_fits import of_nodes
from stretto.explain.why.remedies.gates import gated_members
from stretto.explain.words.amounts import format_count
from stretto.explain.words.reasons import Reason, ReasonCode, reason, sort_reasons
from stretto.explain.words.standing import UnitFacts, joined
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState

NAMED: Final = 3
"""Number of terminating victims that are named."""
_IN_HAND: Final = (PodState.DISPATCHED, PodState.ASSUMED, PodState.NOMINATED)


def no_such_node(node: str) -> Reason:
    """Reason of a pod that is bound to a node that does not exist."""
    sentence = f"It is bound to node {node}, which does not exist, so no kubelet runs it."
    return reason(ReasonCode.NO_SUCH_NODE, sentence)


class PodFindings(NamedTuple):
    """Facts about one pod, apart from its unit."""

    #: State of the pod.
    state: PodState
    #: Recorded steps of the pod.
    steps: tuple[StepFact, ...] = ()
    #: Scheduling gates of the pod, if known.
    gates: tuple[str, ...] = ()
    #: Cluster with the running pods; ``None`` for reasons without the names of pods and volumes.
    cluster: Cluster | None = None
    #: Row of the pod in the cluster.
    row: int = -1


def reasons_of(
    inquiry: Inquiry, pod: PodFindings, unit: UnitFacts | None, gang: GangFacts | None
) -> tuple[Reason, ...]:
    """Every reason that applies, the dominant one first; there is always at least one."""
    state, steps, gates, cluster, row = pod
    of_class = of_nodes(inquiry)
    if cluster is not None:
        of_class = detailed(of_class, inquiry, cluster, row)
    found = [*_of_group(unit, gang, pod), *of_class]
    if state is PodState.GATED:
        found.append(reason(ReasonCode.GATED, _gated(gates)))
    if steps and steps[-1].step == "refused":
        found.append(
            reason(ReasonCode.CONFLICT, f"Its last claim was refused: {steps[-1].detail}.")
        )
    if unit is not None and (unit.state == "backoff" or state is PodState.BACKOFF):
        failed = format_count(unit.attempts, "failed attempt")
        sentence = f"In back-off after {failed}, until {unit.not_before:.1f} s of the run."
        found.append(reason(ReasonCode.BACK_OFF, sentence))
    if state in _IN_HAND:
        found.append(reason(ReasonCode.IN_HAND, "A shard is placing it, or its bind is in flight."))
    if unit is not None and unit.reserved:
        found.append(reason(ReasonCode.RESERVED, unit.reserved))
    if not found:
        found.append(reason(ReasonCode.QUEUED, _queued(inquiry, unit)))
    return sort_reasons(found)


def promise_of(cluster: Cluster, row: int) -> Reason | None:
    """Reason why a nominated pod is not bound yet; ``None`` for pods in other states."""
    pods = cluster.pods
    if pods.state[row] != PodState.NOMINATED:
        return None
    here = np.flatnonzero(pods.slot[: pods.length] == pods.slot[row])
    leaving = sorted(pods.key(each) for each in here[pods.eviction_state[here] != 0].tolist())
    more = [f"{len(leaving) - NAMED} more"] if len(leaving) > NAMED else []
    names = joined([*leaving[:NAMED], *more], "and") or "the pods that are evicted for it"
    gone = "is" if len(leaving) == 1 else "are"
    sentence = f"{cluster.node_of(row)} is promised to it; it is bound when {names} {gone} gone."
    return reason(ReasonCode.IN_HAND, sentence)


def failed_attempts(steps: tuple[StepFact, ...], unit: UnitFacts | None) -> int:
    """Number of failed attempts of a pod; without recorded steps, those of its unit."""
    if steps:
        return sum(step.step in FAILED_STEPS for step in steps)
    return unit.attempts if unit is not None else 0


def _gated(gates: tuple[str, ...]) -> str:
    if not gates:
        return "A scheduling gate must be removed first."
    kind = "gate" if len(gates) == 1 else "gates"
    return f"The scheduling {kind} {', '.join(gates)} must be removed first."


def _time_out(unit: UnitFacts) -> str:
    """Sentence about the time-out of a complete waiting gang; empty for other units."""
    if unit.waits_without_timeout:
        return " Its PodGroup states no time-out, so it waits."
    if not unit.is_gang or unit.failure or unit.placed + unit.waiting < (unit.min_member or 0):
        return ""
    return " Its PodGroup states a time-out, after which it fails."


def _limit_sentence(unit: UnitFacts) -> str:
    """Sentence about the reached limits, which evict no pods of lower priority."""
    lower = max((each.lower for each in unit.limits), default=0)
    evicts = ""
    if lower:
        pods = format_count(lower, "pod")
        run = "runs" if lower == 1 else "run"
        evicts = f" Preemption does not free a limit: {pods} of lower priority {run} under it."
    return f"A queue limit is reached: {unit.quota}.{evicts}{_time_out(unit)}"


def _queued(inquiry: Inquiry, unit: UnitFacts | None) -> str:
    fits = format_count(int(inquiry.fits.sum()), "node")
    if unit is None or not unit.position:
        return f"It fits on {fits} now and is queued."
    position = f"position {unit.position:,} of {unit.queue_length:,} in queue {unit.queue}"
    return f"It fits on {fits} now; {position}."


# ---------------------------------------------------------------- group


def _of_group(unit: UnitFacts | None, gang: GangFacts | None, pod: PodFindings) -> list[Reason]:
    """Reasons that concern the pod's unit."""
    if unit is None:
        return []
    if unit.min_member is None:
        if unit.failure:
            return [reason(ReasonCode.UNREADABLE_GROUP, f"Its {unit.failure}.")]
        name = unit.key.partition("/")[2]
        return [reason(ReasonCode.UNKNOWN_GROUP, f"Its PodGroup {name} does not exist.")]
    found = []
    if unit.failure:
        found.append(reason(ReasonCode.GANG_TIMED_OUT, f"Its unit failed: {unit.failure}."))
    if unit.quota:
        found.append(reason(ReasonCode.QUEUE_LIMIT, _limit_sentence(unit)))
    if not unit.is_gang:
        return found
    return [*found, *_of_members(unit, pod), *_of_capacity(unit, gang)]


def _of_members(unit: UnitFacts, pod: PodFindings) -> Iterator[Reason]:
    """Reasons that concern the number of pods of a gang."""
    exist = unit.placed + unit.waiting
    if unit.min_member is not None and not unit.scheduled and exist < unit.min_member:
        sentence = f"Only {exist} of the {unit.min_member} required pods of its gang exist."
        gated = len(gated_members(pod.cluster, pod.row)) if pod.cluster is not None else 0
        if gated:
            held = format_count(gated, "more pod")
            sentence = (
                f"Only {exist} of the {unit.min_member} required pods of its gang can be "
                f"scheduled; scheduling gates hold back {held}."
            )
        yield reason(ReasonCode.GANG_INCOMPLETE, sentence)
    if unit.beside:
        sentence = (
            f"It has {unit.placed} of {unit.min_member} required pods, and so has "
            f"{joined(unit.beside, 'and')}: of gangs that block each other, the less important "
            "one is evicted after 30 s, and the other one is completed."
        )
        yield reason(ReasonCode.GANG_SHORT, sentence)


def _of_capacity(unit: UnitFacts, gang: GangFacts | None) -> Iterator[Reason]:
    """Reasons that concern the capacity for all pods of a gang."""
    if gang is None:
        return
    if gang.fitting_if_empty < min(gang.needed, gang.tried):
        sentence = (
            f"Its gang needs capacity for {format_count(gang.needed, 'more pod')} at once; "
            f"all nodes together, empty, fit {gang.fitting_if_empty}."
        )
        yield reason(ReasonCode.GANG_TOO_BIG, sentence)
    elif gang.fitting < gang.needed:
        sentence = (
            f"{unit.placed} of {unit.min_member} required pods of its gang are placed; "
            f"{gang.fitting} of the missing {gang.needed} would fit now.{_time_out(unit)}"
        )
        yield reason(ReasonCode.GANG_SHORT, sentence)
