"""Smaller requests and other device models that fit now, verified on the free amounts."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.remedies.remedy import CureKind, Remedy
from stretto.explain.words.amounts import format_amount, format_count
from stretto.framework.compiled.devices import fitting
from stretto.framework.contract.requests import devices_of, scaled_requests, wanted_of
from stretto.framework.plugins.devices import DevicesRule
from stretto.state.rows.devices import WHOLE, DeviceRequest
from stretto.state.rows.resources import CPU, PODS

CPU_STEP: Final = 100
"""Suggested CPU requests are rounded down to a multiple of this many milli-CPU."""


def smaller_requests(inquiry: Inquiry) -> tuple[Remedy, ...]:
    """Smaller requests and other models that fit now, or else one fraction of all requests."""
    found = [*_smaller(inquiry), *_models(inquiry)]
    return tuple(found or _scaled_down(inquiry))


def _smaller(inquiry: Inquiry) -> Iterator[Remedy]:
    """For each resource, the largest smaller request that fits with all others unchanged."""
    lacking = [each for each in inquiry.refused if each.is_amount]
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


def _short_columns(inquiry: Inquiry) -> dict[int, npt.NDArray[np.bool_]]:
    """bool[node] per requested resource: true where too little is free."""
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
    """Largest request of one resource that fits a node which lacks nothing else."""
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
    yield Remedy(CureKind.SMALLER, sentence, node, name, most)


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
        yield Remedy(CureKind.SMALLER, sentence, node, request.kind, count)
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
    yield Remedy(CureKind.SMALLER, sentence, node, f"{request.kind} milli", most)


def _scaled_down(inquiry: Inquiry) -> Iterator[Remedy]:
    """The largest fraction of all amounts together that fits now, devices unchanged."""
    columns = inquiry.view.columns
    rest = inquiry.without([each for each in inquiry.refused if each.is_amount])
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
        yield Remedy(CureKind.SMALLER, sentence, node, amount=percent)


def _models(inquiry: Inquiry) -> Iterator[Remedy]:
    """Other models of a device that fit now."""
    lacking = [each for each in inquiry.refused if each.rule.NAME == DevicesRule.NAME]
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
            yield Remedy(CureKind.MODELS, sentence, resource=request.kind, models=tuple(found))
