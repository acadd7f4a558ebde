"""What would make a pending pod fit: freed capacity, a smaller request, a rule or an event.

Every remedy is verified on the columns first: a suggested smaller request fits now on the node
that the sentence names.
"""

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.explain.why.inquiry import Inquiry, NearFacts, RefusedBy
from stretto.explain.why.wanted import CONDITIONS, node_reason
from stretto.explain.words.amounts import format_amount, format_count
from stretto.explain.words.nearest import nearest
from stretto.explain.words.standing import UnitFacts, retry_condition
from stretto.framework.compiled.devices import fitting
from stretto.framework.contract.requests import devices_of, scaled_requests, wanted_of
from stretto.framework.contract.rule import Scope
from stretto.framework.plugins.devices import DevicesRule
from stretto.framework.plugins.fit import NodeResourcesFitRule
from stretto.state.rows.devices import WHOLE, DeviceRequest
from stretto.state.rows.resources import CPU, PODS

CAPACITY_NODES: Final = 2
"""Nearest nodes for which the missing capacity is reported."""
RULES_LISTED: Final = 3
"""Node rules for which the effect of dropping the rule is reported."""
CPU_STEP: Final = 100
"""Suggested CPU requests are rounded down to a multiple of this many milli-CPU."""


class Remedy(msgspec.Struct, frozen=True):
    """One thing that would make the pod fit."""

    #: ``capacity``, ``nodes``, ``smaller``, ``rule``, ``event``, ``gang`` or ``edit``.
    kind: str
    #: What to do or to wait for, for people.
    sentence: str
    #: Node concerned; empty for none.
    node: str = ""
    #: Resource concerned; empty for none.
    resource: str = ""
    #: Exact amount to free or to request instead.
    amount: int = 0


def cures_for(inquiry: Inquiry, near: tuple[NearFacts, ...], events: int) -> tuple[Remedy, ...]:
    """Remedies for a class that fits on no node.

    Args:
        inquiry: the verdicts of all nodes.
        near: the nodes closest to fitting.
        events: ``Cure`` bits of the events that trigger a retry.
    """
    found = [*_capacity(near), *_smaller(inquiry), *_models(inquiry), *_rules(inquiry)]
    if not found:
        found = [*_scaled_down(inquiry)]
    condition = retry_condition(events)
    if condition and bool(inquiry.fits_when_empty().any()):
        found.append(Remedy("event", f"Retried {condition}."))
    return tuple(found)


def cures_for_member(inquiry: Inquiry, events: int) -> tuple[Remedy, ...]:
    """Remedies for a class whose pods must start together: none of them is about one node alone.

    Args:
        inquiry: the verdicts of all nodes.
        events: ``Cure`` bits of the events that trigger a retry.
    """
    found = [*_models(inquiry), *_rules(inquiry)]
    condition = retry_condition(events)
    if condition and bool(inquiry.fits_when_empty().any()):
        found.append(Remedy("event", f"Retried {condition}."))
    return tuple(found)


def cures_of_unit(unit: UnitFacts, groups: tuple[str, ...]) -> tuple[Remedy, ...]:
    """Remedies that concern the pod's unit, independent of any node.

    Args:
        unit: the unit of the pod.
        groups: existing PodGroups, as ``namespace/name``.
    """
    if unit.min_member is None:
        return () if unit.failure else (_named_group(unit, groups),)
    if unit.failure:
        hint = "a timed-out group is not retried; raise scheduleTimeoutSeconds to give it longer"
        return (Remedy("edit", f"Recreate its PodGroup ({hint})."),)
    if unit.quota:  # neither more capacity nor fewer pods would help
        return (Remedy("event", "Raise the limit, or wait until pods of the queue finish."),)
    missing = unit.min_member - unit.placed - unit.waiting
    if unit.is_gang and not unit.scheduled and missing > 0:
        fewer = unit.min_member - missing
        sentence = f"Create {format_count(missing, 'more pod')} of its gang"
        return (Remedy("gang", f"{sentence}, or set minMember to {fewer}.", amount=fewer),)
    return ()


def _named_group(unit: UnitFacts, groups: tuple[str, ...]) -> Remedy:
    name = unit.key.partition("/")[2]
    space = name.partition("/")[0]
    found = nearest(name, [each for each in groups if each.startswith(f"{space}/")])
    instead = f"name an existing one: {' or '.join(found)}" if found else "name an existing one"
    return Remedy("edit", f"Create the PodGroup {name}, or {instead}.")


def _capacity(near: tuple[NearFacts, ...]) -> Iterator[Remedy]:
    """Capacity that must be freed on the nearest nodes that are large enough."""
    candidates = [each for each in near if each.resolvable and each.lacks]
    for each in candidates[:CAPACITY_NODES]:
        if any(lack.text.startswith("no ") for lack in each.lacks):
            yield Remedy("capacity", f"On {each.node}, {each.lacks[0].text}.", each.node)
            continue
        parts = [
            format_amount(lack.resource, lack.requested - max(0, lack.free)) for lack in each.lacks
        ]
        first = each.lacks[0]
        yield Remedy(
            "capacity",
            f"Freeing {' and '.join(parts)} on {each.node} would be enough.",
            each.node,
            first.resource,
            first.requested - max(0, first.free),
        )


# ---------------------------------------------------------------- a smaller request


def _smaller(inquiry: Inquiry) -> Iterator[Remedy]:
    """The largest smaller request of each resource that fits now, all else unchanged."""
    lacking = [each for each in inquiry.refused if _is_amount(each)]
    others = inquiry.without(lacking)
    if not others.any():
        return
    short = _short_columns(inquiry)
    devices = [_devices_short(inquiry, n) for n in range(len(inquiry.pod.devices))]
    for column in short:
        rest = others.copy()
        for other, mask in short.items():
            rest &= ~mask if other != column else True
        for mask in devices:
            rest &= ~mask
        yield from _largest_fitting(inquiry, column, rest)
    for number, request in enumerate(inquiry.pod.devices):
        rest = others.copy()
        for mask in short.values():
            rest &= ~mask
        for other, mask in enumerate(devices):
            rest &= ~mask if other != number else True
        yield from _fewer_devices(inquiry, request, number, rest)


def _is_amount(each: RefusedBy) -> bool:
    """Whether a refusal is a shortage of a resource or device."""
    return isinstance(each.rule, NodeResourcesFitRule | DevicesRule)


def _short_columns(inquiry: Inquiry) -> dict[int, npt.NDArray[np.bool_]]:
    """Per requested resource: bool[node], where too little is free."""
    columns = inquiry.view.columns
    found = {}
    for column, requested in scaled_requests(inquiry.pod, inquiry.view).items():
        known = column < len(columns.free)
        free = columns.free[column, inquiry.slots] if known else np.zeros(len(inquiry.slots))
        found[column] = np.asarray(free < requested)
    return found


def _devices_short(inquiry: Inquiry, number: int) -> npt.NDArray[np.bool_]:
    request = inquiry.pod.devices[number]
    return np.asarray(inquiry.devices_free(number) < request.count)


def _largest_fitting(
    inquiry: Inquiry, column: int, rest: npt.NDArray[np.bool_]
) -> Iterator[Remedy]:
    """The largest amount of one resource that fits on a node that lacks nothing else."""
    columns = inquiry.view.columns
    if column == PODS or column >= len(columns.free) or not rest.any():
        return
    ledger = columns.ledger
    name, step = ledger.resources.names[column], ledger.resources.steps[column]
    free = np.where(rest, columns.free[column, inquiry.slots], -1)
    place = int(np.argmax(free))
    most = int(free[place]) * step
    if column == CPU:
        most -= most % CPU_STEP
    requested = next((amount for c, amount in inquiry.pod.requests if c == column), 0)
    if not 0 < most < requested:
        return
    node = inquiry.view.nodes.names[int(inquiry.slots[place])]
    sentence = (
        f"Requesting {format_amount(name, most)} instead of "
        f"{format_amount(name, requested)} would fit now on {node}."
    )
    yield Remedy("smaller", sentence, node, name, most)


def _fewer_devices(
    inquiry: Inquiry, request: DeviceRequest, number: int, rest: npt.NDArray[np.bool_]
) -> Iterator[Remedy]:
    """Fewer devices, or a smaller share of one device, that fit now."""
    if not rest.any():
        return
    names = inquiry.view.nodes.names
    free = np.where(rest, inquiry.devices_free(number), 0)
    place = int(np.argmax(free))
    if 0 < int(free[place]) < request.count:
        node, count = names[int(inquiry.slots[place])], int(free[place])
        sentence = (
            f"Requesting {format_amount(request.kind, count)} instead of {request.count} "
            f"would fit now on {node}."
        )
        yield Remedy("smaller", sentence, node, request.kind, count)
        return
    if request.count == 1:
        yield from _smaller_share(inquiry, request, number, rest)


def _smaller_share(
    inquiry: Inquiry, request: DeviceRequest, number: int, rest: npt.NDArray[np.bool_]
) -> Iterator[Remedy]:
    """The largest share of one device that is free on an eligible node."""
    free = np.where(rest, inquiry.free_share(number), 0)
    place = int(np.argmax(free))
    most = int(free[place])
    if not 0 < most < request.milli:
        return
    node = inquiry.view.nodes.names[int(inquiry.slots[place])]
    requested = "a whole one" if request.milli == WHOLE else f"{request.milli}"
    sentence = (
        f"Requesting {most} thousandths of one {request.kind} instead of {requested} "
        f"would fit now on {node}."
    )
    yield Remedy("smaller", sentence, node, f"{request.kind} milli", most)


def _scaled_down(inquiry: Inquiry) -> Iterator[Remedy]:
    """The largest fraction of all amounts together that fits now, devices unchanged."""
    columns = inquiry.view.columns
    rest = inquiry.without([each for each in inquiry.refused if _is_amount(each)])
    for number in range(len(inquiry.pod.devices)):
        rest &= ~_devices_short(inquiry, number)
    share = np.where(rest, 1.0, 0.0)
    for column, requested in scaled_requests(inquiry.pod, inquiry.view).items():
        if column < len(columns.free):
            share = np.minimum(share, columns.free[column, inquiry.slots] / max(1, requested))
    place = int(np.argmax(share)) if len(share) else 0
    percent = int(100 * share[place]) if len(share) else 0
    if 0 < percent < 100:
        node = inquiry.view.nodes.names[int(inquiry.slots[place])]
        sentence = f"Requesting {percent} % of every resource would fit now on {node}."
        yield Remedy("smaller", sentence, node)


def _models(inquiry: Inquiry) -> Iterator[Remedy]:
    """Other models of a device that fit now."""
    lacking = [each for each in inquiry.refused if isinstance(each.rule, DevicesRule)]
    others = inquiry.without(lacking)
    for number, request in enumerate(inquiry.pod.devices):
        if not request.models or not others.any():
            continue
        devices = devices_of(inquiry.view, inquiry.slots)
        wanted = wanted_of(inquiry.pod, inquiry.view, number)._replace(models=-1)
        usable = fitting(devices, wanted)
        here = others & (np.count_nonzero(usable, axis=1) >= request.count)
        if not here.any():
            continue
        names = inquiry.view.columns.ledger.devices.model_names
        numbers = np.unique(devices.model[here][usable[here]]).tolist()
        found = sorted({names[n] for n in numbers if names[n]} - set(request.models))
        if found:
            requested = " or ".join(request.models)
            sentence = (
                f"Also allowing model {' or '.join(found)} (besides {requested}) would make "
                f"{format_count(int(here.sum()), 'node')} fit now."
            )
            yield Remedy("edit", sentence, resource=request.kind)


# ---------------------------------------------------------------- without a rule


def _rules(inquiry: Inquiry) -> Iterator[Remedy]:
    """Nodes that would fit if one node rule did not apply."""
    static = [each for each in inquiry.refused if each.rule.SCOPE is Scope.STATIC]
    opened = []
    for each in static:
        places = np.flatnonzero(inquiry.without([each]))
        if len(places):
            opened.append((len(places), each.reason, int(inquiry.slots[places[0]])))
    nodes = inquiry.view.nodes
    for count, text, slot in sorted(opened, key=lambda one: -one[0])[:RULES_LISTED]:
        condition = CONDITIONS.get(text, f"“{text}” did not apply")
        sentence = f"{format_count(count, 'node')} would fit if {condition}"
        words = node_reason(text, inquiry.pod, nodes, slot)
        example = f" ({nodes.names[slot]}: {words})" if words != text else ""
        yield Remedy("rule", f"{sentence}{example}.", nodes.names[slot])
