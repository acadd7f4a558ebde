"""What would cure a "no": room on a node, a smaller request, a rule less, an event.

Each cure is checked on the columns before it is offered: a smaller request that is named would fit
now, on the node that is named.
"""

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.explain.why.inquiry import Inquiry, NearFacts, RefusedBy
from stretto.explain.why.wanted import node_reason
from stretto.explain.words.amounts import format_amount, format_count
from stretto.explain.words.nearest import nearest
from stretto.explain.words.standing import UnitFacts, event_names
from stretto.framework.compiled.devices import fitting
from stretto.framework.contract.requests import devices_of, scaled_asks, wanted_of
from stretto.framework.contract.rule import Scope
from stretto.framework.plugins.devices import DevicesRule
from stretto.framework.plugins.fit import NodeResourcesFitRule
from stretto.state.rows.devices import WHOLE, DeviceRequest
from stretto.state.rows.resources import CPU, PODS

ROOM_NODES: Final = 2
"""Nearest nodes for which it is said how much room would do."""
RULES: Final = 3
"""Rules on nodes of which it is said what leaving them out would open."""
CPU_STEP: Final = 100
"""Suggested CPU is rounded down to so many milli-CPU."""


class Remedy(msgspec.Struct, frozen=True):
    """One thing that would help."""

    #: ``room``, ``smaller``, ``rule``, ``event``, ``gang`` or ``edit``.
    kind: str
    #: For people: what to do or to wait for.
    sentence: str
    #: Node that it is about; empty for any.
    node: str = ""
    #: Resource that it is about; empty for none.
    resource: str = ""
    #: Exact amount: what must become free, or what to ask for instead.
    amount: int = 0


def cures_for(inquiry: Inquiry, near: tuple[NearFacts, ...], events: int) -> tuple[Remedy, ...]:
    """What would let a class that fits nowhere fit somewhere.

    Args:
        inquiry: what all nodes said.
        near: the nearest nodes.
        events: ``Remedy`` bits of the events that wake it.
    """
    found = [*_rooms(near), *_smaller(inquiry), *_models(inquiry), *_rules(inquiry)]
    if not found:
        found = [*_scaled_down(inquiry)]
    words = event_names(events)
    if words and bool(inquiry.fits_when_empty().any()):
        when = ", ".join(words[:-1]) + " or " * (len(words) > 1) + words[-1]
        found.append(Remedy("event", f"It is tried again as soon as {when}."))
    return tuple(found)


def cures_of_unit(unit: UnitFacts, groups: tuple[str, ...]) -> tuple[Remedy, ...]:
    """What would help where a pod's unit is in the way, whatever the nodes say.

    Args:
        unit: its unit.
        groups: PodGroups that exist.
    """
    if unit.min_member is None:
        return () if unit.failure else (_named_group(unit, groups),)
    if unit.failure:
        late = "one that was given up is not tried again"
        longer = "a greater scheduleTimeoutSeconds lets it wait longer"
        return (Remedy("edit", f"Make its PodGroup anew: {late} ({longer})."),)
    if unit.quota:  # room would not help, nor would fewer pods at one time
        return (Remedy("event", "A higher limit, or pods of the queue that end."),)
    missing = unit.min_member - unit.placed - unit.waiting
    if unit.is_gang and not unit.scheduled and missing > 0:
        sentence = f"{format_count(missing, 'more pod')} of its gang must be created"
        fewer = unit.min_member - missing
        return (Remedy("gang", f"{sentence}, or minMember be {fewer}.", amount=fewer),)
    return ()


def _named_group(unit: UnitFacts, groups: tuple[str, ...]) -> Remedy:
    name = unit.key.partition("/")[2]
    space = name.partition("/")[0]
    found = nearest(name, [each for each in groups if each.startswith(f"{space}/")])
    instead = f"name one that exists: {' or '.join(found)}" if found else "name one that exists"
    return Remedy("edit", f"Create the PodGroup {name}, or {instead}.")


def _rooms(near: tuple[NearFacts, ...]) -> Iterator[Remedy]:
    """How much must become free on the nearest nodes that could hold it."""
    could = [each for each in near if each.resolvable and each.lacks]
    for each in could[:ROOM_NODES]:
        if any(lack.text.startswith("no ") for lack in each.lacks):
            yield Remedy("room", f"On {each.node} {each.lacks[0].text}.", each.node)
            continue
        parts = [
            format_amount(lack.resource, lack.asked - max(0, lack.free)) for lack in each.lacks
        ]
        first = each.lacks[0]
        yield Remedy(
            "room",
            f"Another {' and '.join(parts)} free on {each.node} would do.",
            each.node,
            first.resource,
            first.asked - max(0, first.free),
        )


# ---------------------------------------------------------------- a smaller request


def _smaller(inquiry: Inquiry) -> Iterator[Remedy]:
    """Less of one resource, all else as it is, that would fit now; best of each resource."""
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
    """Whether a reason is too little of something."""
    return isinstance(each.rule, NodeResourcesFitRule | DevicesRule)


def _short_columns(inquiry: Inquiry) -> dict[int, npt.NDArray[np.bool_]]:
    """Per resource asked for, where there is too little of it."""
    columns = inquiry.view.columns
    found = {}
    for column, asked in scaled_asks(inquiry.pod, inquiry.view).items():
        known = column < len(columns.free)
        free = columns.free[column, inquiry.slots] if known else np.zeros(len(inquiry.slots))
        found[column] = np.asarray(free < asked)
    return found


def _devices_short(inquiry: Inquiry, number: int) -> npt.NDArray[np.bool_]:
    request = inquiry.pod.devices[number]
    return np.asarray(inquiry.devices_free(number) < request.count)


def _largest_fitting(
    inquiry: Inquiry, column: int, rest: npt.NDArray[np.bool_]
) -> Iterator[Remedy]:
    """The most of a resource that fits on a node where nothing else stands in the way."""
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
    asked = next((amount for c, amount in inquiry.pod.requests if c == column), 0)
    if not 0 < most < asked:
        return
    node = inquiry.view.nodes.names[int(inquiry.slots[place])]
    sentence = (
        f"Asking for {format_amount(name, most)} instead of "
        f"{format_amount(name, asked)} would fit now on {node}."
    )
    yield Remedy("smaller", sentence, node, name, most)


def _fewer_devices(
    inquiry: Inquiry, request: DeviceRequest, number: int, rest: npt.NDArray[np.bool_]
) -> Iterator[Remedy]:
    """Fewer devices, or a smaller share of one, that would fit now."""
    if not rest.any():
        return
    names = inquiry.view.nodes.names
    free = np.where(rest, inquiry.devices_free(number), 0)
    place = int(np.argmax(free))
    if 0 < int(free[place]) < request.count:
        node, count = names[int(inquiry.slots[place])], int(free[place])
        sentence = (
            f"Asking for {format_amount(request.kind, count)} instead of {request.count} "
            f"would fit now on {node}."
        )
        yield Remedy("smaller", sentence, node, request.kind, count)
        return
    if request.count == 1:
        yield from _smaller_share(inquiry, request, number, rest)


def _smaller_share(
    inquiry: Inquiry, request: DeviceRequest, number: int, rest: npt.NDArray[np.bool_]
) -> Iterator[Remedy]:
    """The largest share of one device that is free anywhere that is allowed."""
    free = np.where(rest, inquiry.free_share(number), 0)
    place = int(np.argmax(free))
    most = int(free[place])
    if not 0 < most < request.milli:
        return
    node = inquiry.view.nodes.names[int(inquiry.slots[place])]
    asked = "a whole one" if request.milli == WHOLE else f"{request.milli}"
    sentence = (
        f"A share of {most} thousandths of one {request.kind} instead of {asked} "
        f"would fit now on {node}."
    )
    yield Remedy("smaller", sentence, node, f"{request.kind} milli", most)


def _scaled_down(inquiry: Inquiry) -> Iterator[Remedy]:
    """The largest part of every amount together that would fit now, devices as they are."""
    columns = inquiry.view.columns
    rest = inquiry.without([each for each in inquiry.refused if _is_amount(each)])
    for number in range(len(inquiry.pod.devices)):
        rest &= ~_devices_short(inquiry, number)
    share = np.where(rest, 1.0, 0.0)
    for column, asked in scaled_asks(inquiry.pod, inquiry.view).items():
        if column < len(columns.free):
            share = np.minimum(share, columns.free[column, inquiry.slots] / max(1, asked))
    place = int(np.argmax(share)) if len(share) else 0
    percent = int(100 * share[place]) if len(share) else 0
    if 0 < percent < 100:
        node = inquiry.view.nodes.names[int(inquiry.slots[place])]
        yield Remedy("smaller", f"{percent} % of every amount would fit now on {node}.", node)


def _models(inquiry: Inquiry) -> Iterator[Remedy]:
    """Other models of a device that would fit now."""
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
            asked = " or ".join(request.models)
            sentence = (
                f"Allowing model {' or '.join(found)} beside {asked} would open "
                f"{format_count(int(here.sum()), 'node')} now."
            )
            yield Remedy("edit", sentence, resource=request.kind)


# ---------------------------------------------------------------- a rule less


def _rules(inquiry: Inquiry) -> Iterator[Remedy]:
    """What leaving out one rule on nodes would open."""
    static = [each for each in inquiry.refused if each.rule.SCOPE is Scope.STATIC]
    opened = []
    for each in static:
        places = np.flatnonzero(inquiry.without([each]))
        if len(places):
            opened.append((len(places), each.reason, int(inquiry.slots[places[0]])))
    nodes = inquiry.view.nodes
    for count, text, slot in sorted(opened, key=lambda one: -one[0])[:RULES]:
        sentence = f"{format_count(count, 'node')} would take it now, were it not for “{text}”"
        words = node_reason(text, inquiry.pod, nodes, slot)
        there = f"; on {nodes.names[slot]} it {words}" if words != text else ""
        yield Remedy("rule", f"{sentence}{there}.", nodes.names[slot])
