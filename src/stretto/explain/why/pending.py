"""Every reason why a pod has no node, each as a sentence with figures."""

from typing import Final, NamedTuple

import numpy as np

from stretto.explain.records.steps import FAILED_STEPS, StepFact
from stretto.explain.why.gangs import GangFacts
from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.wanted import node_reason, unmatched_terms
from stretto.explain.words.amounts import bare_amount, format_count
from stretto.explain.words.reasons import Reason, ReasonCode, reason, sort_reasons
from stretto.explain.words.standing import UnitFacts
from stretto.framework.contract.rule import BoolArray, Scope, Subject
from stretto.state.rows.lifecycle import PodState

_NARROWING: Final = (
    (ReasonCode.VOLUMES, Subject.VOLUMES, "Volume constraints exclude"),
    (ReasonCode.OTHER_PODS, Subject.OTHER_PODS, "Inter-pod rules exclude"),
)
"""Code, rules and sentence start of the rules that depend on volumes or other pods."""
_IN_HAND: Final = (PodState.DISPATCHED, PodState.ASSUMED, PodState.NOMINATED)


class PodFindings(NamedTuple):
    """Facts about one pod, apart from its unit."""

    #: Its state.
    state: PodState
    #: Its recorded steps.
    steps: tuple[StepFact, ...] = ()
    #: Its scheduling gates, if known.
    gates: tuple[str, ...] = ()


def reasons_of(
    inquiry: Inquiry, pod: PodFindings, unit: UnitFacts | None, gang: GangFacts | None
) -> tuple[Reason, ...]:
    """Every reason that applies, the dominant one first; there is always at least one."""
    state, steps, gates = pod
    found = [*_of_group(unit, gang), *of_nodes(inquiry)]
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


def failed_attempts(steps: tuple[StepFact, ...], unit: UnitFacts | None) -> int:
    """Failed placement attempts of a pod; without recorded steps, those of its unit."""
    if steps:
        return sum(step.step in FAILED_STEPS for step in steps)
    return unit.attempts if unit is not None else 0


def _gated(gates: tuple[str, ...]) -> str:
    if not gates:
        return "A scheduling gate must be removed first."
    kind = "gate" if len(gates) == 1 else "gates"
    return f"The scheduling {kind} {', '.join(gates)} must be removed first."


def _retry_note(unit: UnitFacts) -> str:
    """Tell that a gang does not time out while it waits."""
    return " Its PodGroup states no time-out, so it waits." if unit.waits_without_timeout else ""


def _queued(inquiry: Inquiry, unit: UnitFacts | None) -> str:
    fits = format_count(int(inquiry.fits.sum()), "node")
    if unit is None or not unit.position:
        return f"It fits on {fits} now and is queued."
    position = f"position {unit.position:,} of {unit.queue_length:,} in queue {unit.queue}"
    return f"It fits on {fits} now; {position}."


# ---------------------------------------------------------------- nodes


def of_nodes(inquiry: Inquiry) -> list[Reason]:
    """Why no node fits; empty if one does."""
    total = len(inquiry.slots)
    if not total:
        return [reason(ReasonCode.NO_NODES, "The cluster has no nodes.")]
    if inquiry.fits.any():
        return []
    unknown = _unknown(inquiry)
    if unknown:
        return unknown
    unusable = _unusable_claims(inquiry)
    if unusable:
        return unusable
    allowed = int(inquiry.allowed().sum())
    if not allowed:
        texts = unmatched_terms(inquiry.pod, inquiry.view.nodes, inquiry.slots)
        texts = texts or [e.reason for e in inquiry.reasons() if not _is_shortage(e.reason)]
        head = (
            "The only node is not eligible"
            if total == 1
            else f"None of the {total:,} nodes is eligible"
        )
        sentence = f"{head}: {', '.join(texts)}."
        return [reason(ReasonCode.NOT_ALLOWED, sentence)]
    large = inquiry.fits_when_empty()
    if not large.any():
        excluded = inquiry.large_enough()
        if excluded.any():
            return [reason(ReasonCode.NOT_ALLOWED, _excluded(inquiry, excluded, allowed))]
        return [reason(ReasonCode.TOO_BIG, _too_big(inquiry, allowed))]
    for code, subject, head in _NARROWING:
        if not (large & ~inquiry.refused_for(subject)).any():
            names = {each.rule.NAME for each in inquiry.refused if each.rule.SUBJECT is subject}
            texts = [each.reason for each in inquiry.reasons() if each.plugin in names]
            count = format_count(int(large.sum()), "node")
            sentence = f"{head} every node that is large enough ({count}): {', '.join(texts)}."
            return [reason(code, sentence)]
    return [reason(ReasonCode.NO_CAPACITY, _no_capacity(inquiry, large))]


def _no_capacity(inquiry: Inquiry, large: BoolArray) -> str:
    """Sentence for nodes that are large enough but full: how many, and the main shortage."""
    could = ~inquiry.never if not inquiry.never.all() else large
    count = int(could.sum())
    main = max(inquiry.refused, key=lambda each: int((each.mask & could).sum())).reason
    total = len(inquiry.slots)
    which = f"{count:,} of {total:,} nodes {'is' if count == 1 else 'are'}"
    if count == total:
        which = "The only node is" if total == 1 else f"All {total:,} nodes are"
    state = "full" if _is_shortage(main) else "unavailable"
    return f"{which} large enough but {state} (mostly {main})."


def _unusable_claims(inquiry: Inquiry) -> list[Reason]:
    """Resource claims and PVCs of the pod that exclude every node."""
    found = []
    if any(each.rule.SUBJECT is Subject.RESOURCE_CLAIMS for each in inquiry.refused):
        sentence = (
            "It uses dynamic resource claims, which Stretto does not allocate, "
            "so no node accepts it."
        )
        found.append(reason(ReasonCode.DYNAMIC_CLAIMS, sentence))
    found.extend(
        reason(ReasonCode.VOLUME_CLAIMS, f"Its PVCs cannot be used: {each.reason}.")
        for each in inquiry.refused
        if each.nowhere and each.rule.SUBJECT is Subject.VOLUMES
    )
    return found


def _is_shortage(text: str) -> bool:
    return text.startswith(("Insufficient", "Too many pods"))


def _excluded(inquiry: Inquiry, excluded: BoolArray, allowed: int) -> str:
    """Sentence for nodes that are large enough and that node rules exclude, with an example."""
    count, place = int(excluded.sum()), int(np.flatnonzero(excluded)[0])
    nodes, slot = inquiry.view.nodes, int(inquiry.slots[place])
    static = [e for e in inquiry.refused if e.rule.SCOPE is Scope.STATIC and e.mask[place]]
    why = ", ".join(node_reason(each.reason, inquiry.pod, nodes, slot) for each in static)
    others = "node is" if allowed == 1 else "nodes are"
    return (
        f"{format_count(count, 'node')} {'is' if count == 1 else 'are'} large enough but not "
        f"eligible ({nodes.names[slot]}: {why}); the {allowed:,} eligible {others} too small, "
        "even empty."
    )


def _too_big(inquiry: Inquiry, allowed: int) -> str:
    """Sentence for eligible nodes that are all too small: by which resource, or the closest one."""
    ledger, slots = inquiry.view.columns.ledger, inquiry.slots[inquiry.allowed()]
    beyond = []
    for column, amount in inquiry.pod.requests:
        most = int(ledger.alloc[slots, column].max())
        if most < amount:
            name = ledger.resources.names[column]
            beyond.append(
                f"{name}: requests {bare_amount(name, amount)}, largest {bare_amount(name, most)}"
            )
    devices = ledger.devices
    for request in inquiry.pod.devices:
        of_kind = devices.kind[slots] == devices.kind_number(request.kind)
        most = int(of_kind.sum(axis=1).max())
        if most < request.count:
            beyond.append(f"{request.kind}: asks {request.count}, largest {most}")
    head = (
        "The only eligible node is not large enough, even empty"
        if allowed == 1
        else f"None of the {allowed:,} eligible nodes is large enough, even empty"
    )
    near = inquiry.nearest(1)
    if not beyond and near and near[0].lacks:
        beyond = [f"closest is {near[0].node}: {near[0].lacks[0].text}"]
    return f"{head} ({'; '.join(beyond)})." if beyond else f"{head}."


def _unknown(inquiry: Inquiry) -> list[Reason]:
    """Resources that no node offers, and device models that no node has."""
    ledger = inquiry.view.columns.ledger
    found = []
    for column, amount in inquiry.pod.requests:
        if amount > 0 and not ledger.alloc[inquiry.slots, column].any():
            sentence = f"It requests {ledger.resources.names[column]}, which no node offers."
            found.append(reason(ReasonCode.UNKNOWN_RESOURCE, sentence))
    for request in inquiry.pod.devices:
        kind = ledger.devices.kind_number(request.kind)
        of_kind = ledger.devices.kind[inquiry.slots] == kind
        if not of_kind.any():
            sentence = f"It requests {request.kind}, which no node offers."
            found.append(reason(ReasonCode.UNKNOWN_RESOURCE, sentence))
            continue
        names = ledger.devices.model_names
        present = {names[n] for n in set(ledger.devices.model[inquiry.slots][of_kind].tolist())}
        if request.models and not present & set(request.models):
            sentence = (
                f"It requests {request.kind} of model {' or '.join(request.models)}; "
                f"nodes have {', '.join(sorted(filter(None, present))) or 'no named model'}."
            )
            found.append(reason(ReasonCode.UNKNOWN_MODEL, sentence))
    return found


# ---------------------------------------------------------------- group


def _of_group(unit: UnitFacts | None, gang: GangFacts | None) -> list[Reason]:
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
        sentence = f"A queue limit is reached: {unit.quota}.{_retry_note(unit)}"
        found.append(reason(ReasonCode.QUEUE_LIMIT, sentence))
    if not unit.is_gang:
        return found
    exist = unit.placed + unit.waiting
    if not unit.scheduled and exist < unit.min_member:
        sentence = f"Only {exist} of the {unit.min_member} required pods of its gang exist."
        found.append(reason(ReasonCode.GANG_INCOMPLETE, sentence))
    if gang is None:
        return found
    if gang.fitting_if_empty < min(gang.needed, gang.tried):
        sentence = (
            f"Its gang needs capacity for {format_count(gang.needed, 'more pod')} at once; "
            f"all nodes together, empty, fit {gang.fitting_if_empty}."
        )
        found.append(reason(ReasonCode.GANG_TOO_BIG, sentence))
    elif gang.fitting < gang.needed:
        sentence = (
            f"{unit.placed} of {unit.min_member} required pods of its gang are placed; "
            f"{gang.fitting} of the missing {gang.needed} would fit now.{_retry_note(unit)}"
        )
        found.append(reason(ReasonCode.GANG_SHORT, sentence))
    return found
