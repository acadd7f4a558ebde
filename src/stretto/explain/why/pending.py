"""Which reasons hold for a pod without a node, each as a sentence with its figures."""

from typing import Final, NamedTuple

from stretto.explain.records.steps import StepFact
from stretto.explain.why.gangs import GangFacts
from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.wanted import unmatched_terms
from stretto.explain.words.amounts import format_amount, format_count
from stretto.explain.words.reasons import Reason, ReasonCode, reason, sort_reasons
from stretto.explain.words.standing import UnitFacts
from stretto.framework.contract.rule import BoolArray, Subject
from stretto.state.rows.lifecycle import PodState

_NARROWING: Final = (
    (ReasonCode.VOLUMES, Subject.VOLUMES, "Its volumes"),
    (ReasonCode.OTHER_PODS, Subject.OTHER_PODS, "Rules between pods"),
)
"""Codes of rules that are about more than a node, and what they are called."""
_IN_HAND: Final = (PodState.DISPATCHED, PodState.ASSUMED, PodState.NOMINATED)


class PodFindings(NamedTuple):
    """What is known of a pod alone."""

    #: Where it is on its walk.
    state: PodState
    #: What happened to it, as far as it was noted.
    steps: tuple[StepFact, ...] = ()
    #: Its scheduling gates, as far as they were read.
    gates: tuple[str, ...] = ()


def reasons_of(
    inquiry: Inquiry, pod: PodFindings, unit: UnitFacts | None, gang: GangFacts | None
) -> tuple[Reason, ...]:
    """Every reason that holds, the dominant one first; there is always one."""
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
        sentence = f"After {failed} it waits until {unit.not_before:.1f} s of the run."
        found.append(reason(ReasonCode.BACK_OFF, sentence))
    if state in _IN_HAND:
        found.append(reason(ReasonCode.IN_HAND, "A shard has it, or its bind is on the way."))
    if not found:
        found.append(reason(ReasonCode.QUEUED, _queued(inquiry, unit)))
    return sort_reasons(found)


def _gated(gates: tuple[str, ...]) -> str:
    named = f" {', '.join(gates)}" if gates else ""
    if len(gates) > 1:
        return f"The scheduling gates{named} hold it until somebody removes them."
    return f"{'The' if gates else 'A'} scheduling gate{named} holds it until somebody removes it."


def _queued(inquiry: Inquiry, unit: UnitFacts | None) -> str:
    fits = format_count(int(inquiry.fits.sum()), "node")
    if unit is None or not unit.position:
        return f"It fits on {fits} now and waits for its turn."
    turn = f"it is number {unit.position:,} of {unit.queue_length:,} in queue {unit.queue}"
    return f"It fits on {fits} now; {turn}."


# ---------------------------------------------------------------- nodes


def of_nodes(inquiry: Inquiry) -> list[Reason]:
    """Why no node takes it; empty where one does."""
    total = len(inquiry.slots)
    if not total:
        return [reason(ReasonCode.NO_NODES, "There is no node at all.")]
    if inquiry.fits.any():
        return []
    unknown = _unknown(inquiry)
    if unknown:
        return unknown
    special = _own_claims(inquiry)
    if special:
        return special
    nodes = format_count(total, "node")
    allowed = int(inquiry.allowed().sum())
    if not allowed:
        texts = unmatched_terms(inquiry.pod, inquiry.view.nodes, inquiry.slots)
        texts = texts or [e.reason for e in inquiry.reasons() if not _has_capacity(e.reason)]
        sentence = f"None of {nodes} is allowed: {', '.join(texts)}."
        return [reason(ReasonCode.NOT_ALLOWED, sentence)]
    large = inquiry.fits_when_empty()
    if not large.any():
        return [reason(ReasonCode.TOO_BIG, _too_big(inquiry, allowed))]
    for code, subject, what in _NARROWING:
        if not (large & ~inquiry.refused_for(subject)).any():
            names = {each.rule.NAME for each in inquiry.refused if each.rule.SUBJECT is subject}
            texts = [each.reason for each in inquiry.reasons() if each.plugin in names]
            sentence = (
                f"{what} leave none of the {format_count(int(large.sum()), 'node')} that could"
            )
            return [reason(code, f"{sentence} hold it: {', '.join(texts)}.")]
    return [reason(ReasonCode.NO_ROOM, _no_capacity(inquiry, large))]


def _no_capacity(inquiry: Inquiry, large: BoolArray) -> str:
    """Nodes that could hold it are full: how many, and mostly of what."""
    could = ~inquiry.never if not inquiry.never.all() else large
    count = int(could.sum())
    main = max(inquiry.refused, key=lambda each: int((each.mask & could).sum())).reason
    full = "it is" if count == 1 else "all of them are"
    nodes = format_count(len(inquiry.slots), "node")
    return f"{count:,} of {nodes} could hold it, and {full} too full now (mostly {main})."


def _own_claims(inquiry: Inquiry) -> list[Reason]:
    """Claims of the pod that end the search, whatever the nodes are."""
    found = []
    if any(each.rule.SUBJECT is Subject.RESOURCE_CLAIMS for each in inquiry.refused):
        sentence = (
            "It asks for dynamic resource claims, and devices are not allocated to claims here: "
            "no node takes it while it names any."
        )
        found.append(reason(ReasonCode.DYNAMIC_CLAIMS, sentence))
    found.extend(
        reason(ReasonCode.VOLUME_CLAIMS, f"Its claims cannot be used: {each.reason}.")
        for each in inquiry.refused
        if each.nowhere and each.rule.SUBJECT is Subject.VOLUMES
    )
    return found


def _has_capacity(text: str) -> bool:
    return text.startswith(("Insufficient", "Too many pods"))


def _too_big(inquiry: Inquiry, allowed: int) -> str:
    """Every allowed node is too small: by which resource, or else the closest node."""
    ledger, slots = inquiry.view.columns.ledger, inquiry.slots[inquiry.allowed()]
    beyond = []
    for column, amount in inquiry.pod.requests:
        most = int(ledger.alloc[slots, column].max())
        if most < amount:
            name = ledger.resources.names[column]
            beyond.append(
                f"it asks for {format_amount(name, amount)}, the largest has "
                f"{format_amount(name, most)}"
            )
    head = (
        f"Not one of the {format_count(allowed, 'node')} allowed could hold it even "
        "if it were empty"
    )
    near = inquiry.nearest(1)
    if not beyond and near and near[0].lacks:
        beyond = [f"{near[0].node} comes closest: {near[0].lacks[0].text}"]
    return f"{head}: {' and '.join(beyond)}." if beyond else f"{head}."


def _unknown(inquiry: Inquiry) -> list[Reason]:
    """Resources that no node offers, and device models that no node has."""
    ledger = inquiry.view.columns.ledger
    found = []
    for column, amount in inquiry.pod.requests:
        if amount > 0 and not ledger.alloc[inquiry.slots, column].any():
            sentence = f"It asks for {ledger.resources.names[column]}, which no node offers."
            found.append(reason(ReasonCode.UNKNOWN_RESOURCE, sentence))
    for request in inquiry.pod.devices:
        kind = ledger.devices.kind_number(request.kind)
        of_kind = ledger.devices.kind[inquiry.slots] == kind
        if not of_kind.any():
            sentence = f"It asks for {request.kind}, which no node has."
            found.append(reason(ReasonCode.UNKNOWN_RESOURCE, sentence))
            continue
        names = ledger.devices.model_names
        present = {names[n] for n in set(ledger.devices.model[inquiry.slots][of_kind].tolist())}
        if request.models and not present & set(request.models):
            sentence = (
                f"It asks for {request.kind} of model {' or '.join(request.models)}; "
                f"the nodes have {', '.join(sorted(filter(None, present))) or 'no named model'}."
            )
            found.append(reason(ReasonCode.UNKNOWN_MODEL, sentence))
    return found


# ---------------------------------------------------------------- group


def _of_group(unit: UnitFacts | None, gang: GangFacts | None) -> list[Reason]:
    """What its unit says."""
    if unit is None:
        return []
    if unit.min_member is None:
        if unit.failure:
            return [reason(ReasonCode.UNREADABLE_GROUP, f"Its {unit.failure}.")]
        name = unit.key.partition("/")[2]
        return [reason(ReasonCode.UNKNOWN_GROUP, f"Its PodGroup {name} does not exist.")]
    found = []
    if unit.failure:
        found.append(reason(ReasonCode.GANG_TIMED_OUT, f"Its unit was given up: {unit.failure}."))
    if unit.quota:
        found.append(reason(ReasonCode.QUEUE_LIMIT, f"A limit is reached: {unit.quota}."))
    if not unit.is_gang:
        return found
    exist = unit.placed + unit.waiting
    if not unit.scheduled and exist < unit.min_member:
        sentence = f"Only {exist} of the {unit.min_member} pods of its gang exist."
        found.append(reason(ReasonCode.GANG_INCOMPLETE, sentence))
    if gang is None:
        return found
    if gang.fitting_if_empty < min(gang.needed, gang.tried):
        sentence = (
            f"Its gang needs room for {gang.needed} more pods at one time; "
            f"all nodes together, empty, could hold {gang.fitting_if_empty}."
        )
        found.append(reason(ReasonCode.GANG_TOO_BIG, sentence))
    elif gang.fitting < gang.needed:
        sentence = (
            f"{unit.placed} of its gang are placed, and {gang.needed} more must be placed "
            f"together: {gang.fitting} would fit now."
        )
        found.append(reason(ReasonCode.GANG_SHORT, sentence))
    return found
