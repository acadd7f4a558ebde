"""Devices: enough GPUs (or other devices) of an allowed model, each with the requested milli.

If a node lacks devices, the reason is Kubernetes' own, so that tools which read it continue to
work. If it only has devices of other models, the reason names the requested models.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from stretto.framework.compiled.devices import fitting
from stretto.framework.compiled.tables import DEVICE_REQUESTS
from stretto.framework.contract import arguments as read
from stretto.framework.contract.requests import devices_of, wanted_of
from stretto.framework.contract.rule import (
    BoolArray,
    Fail,
    FilterRule,
    Refusal,
    Scope,
    SlotArray,
    View,
)
from stretto.state.classes.table import PodClass
from stretto.state.rows.devices import WHOLE, DeviceRequest
from stretto.state.work.units import Cure

NAME: Final = "Devices"
INSUFFICIENT: Final = "Insufficient {}"
WRONG_MODEL: Final = "node(s) had no {} of model {}"
TOO_MANY_KINDS: Final = f"requests more than {DEVICE_REQUESTS} kinds of devices"


class DevicesRule(FilterRule):
    """Refuses nodes without the requested devices."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.SLOT
    CURES: ClassVar[Cure] = Cure.POD_LEFT | Cure.NODE_ADDED | Cure.NODE_GREW | Cure.POD_CHANGED
    FUSED: ClassVar[bool] = True

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Accept no arguments."""
        super().__init__(args)
        read.arguments(args, (), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """The device requests; ``None`` without any."""
        return pod.devices or None

    def prepare(self, pod: PodClass, view: View) -> Fail | None:
        """Refuse a class that requests more kinds of devices than the kernels support."""
        return Fail(TOO_MANY_KINDS) if len(pod.devices) > DEVICE_REQUESTS else None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where every request has its devices."""
        passes = np.full(len(slots), len(pod.devices) <= DEVICE_REQUESTS, np.bool_)
        devices = devices_of(view, slots) if pod.devices else None
        for number, request in enumerate(pod.devices):
            if devices is not None:
                fits = fitting(devices, wanted_of(pod, view, number))
                passes &= np.count_nonzero(fits, axis=1) >= request.count
        return passes

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """Reasons per request.

        No device of the models, never enough of them, or not enough free now.
        """
        if len(pod.devices) > DEVICE_REQUESTS:
            everywhere = np.ones(len(slots), np.bool_)
            return [Refusal(TOO_MANY_KINDS, everywhere, resolvable=False)]
        found = []
        for number, request in enumerate(pod.devices):
            found += self._refusals_of(request, number, pod, view, slots)
        return [each for each in found if each.mask.any()]

    def lacks(self, pod: PodClass, view: View, slot: int) -> Sequence[tuple[str, int, int]]:
        """(kind, requested, free) in devices for each request that a slot cannot satisfy."""
        here = np.array([slot], np.int64)
        found = []
        for number, request in enumerate(pod.devices):
            free = int(fitting(devices_of(view, here), wanted_of(pod, view, number)).sum())
            if free < request.count:
                found.append((request.kind, request.count, free))
        return found

    def _refusals_of(
        self, request: DeviceRequest, number: int, pod: PodClass, view: View, slots: SlotArray
    ) -> list[Refusal]:
        """The reasons behind one request."""
        devices, wanted = devices_of(view, slots), wanted_of(pod, view, number)
        short = np.count_nonzero(fitting(devices, wanted), axis=1) < request.count
        idle = devices._replace(free=np.full_like(devices.free, WHOLE))
        usable = np.count_nonzero(fitting(idle, wanted), axis=1)
        has = (devices.kind == wanted.kind).any(axis=1)
        foreign = short & has & (usable == 0)
        never = short & ~foreign & (usable < request.count)
        reason = INSUFFICIENT.format(request.kind)
        models = WRONG_MODEL.format(request.kind, "|".join(sorted(request.models)))
        return [
            Refusal(reason, short & ~foreign & ~never),
            Refusal(reason, never, resolvable=False),
            Refusal(models, foreign, resolvable=False),
        ]
