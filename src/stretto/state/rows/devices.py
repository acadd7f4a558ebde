"""Devices of nodes: GPUs and NICs as columns in milli.

Each slot has up to 16 devices, each with a kind, a model and its free part in milli (1000 = whole).
A pod requests ``count × milli`` of a kind, of some models or any model. The devices of a pod are a
bit mask in its claim and an annotation on the pod. A census counts the GPU pods of each slot by
form (share, 1, 2, ... 8 GPUs) for policies that keep equal forms together.
"""

from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.base.errors import InputError

MAX_DEVICES: Final = 16
"""Maximum number of devices per node; further devices are not managed individually."""
MAX_KINDS: Final = 255
"""Largest number of a kind, which no kind gets."""
WHOLE: Final = 1000
"""Milli of a whole device."""
FORMS: Final = 17
"""Forms of a GPU pod: 0 = a share, n = n whole devices."""
MAX_MODELS: Final = 62
"""Maximum number of device models: one bit each in a class's mask, one bit spare."""
MAX_REQUESTED_MODELS: Final = MAX_MODELS // 2
"""Number of models that pods may register before a node has them; the rest is reserved for nodes.
"""


class DeviceRequest(msgspec.Struct, frozen=True, gc=False):
    """Devices that a pod requests on one node."""

    #: Resource name of the kind, such as ``nvidia.com/gpu``.
    kind: str
    #: Number of distinct devices.
    count: int
    #: Milli of each device (1..1000; less than 1000 only for one device).
    milli: int
    #: Allowed models; empty for any.
    models: tuple[str, ...] = ()


class DeviceColumns:
    """Device columns of all slots."""

    def __init__(self) -> None:
        """Start without slots."""
        #: int32[slot, device]: free milli.
        self.free: npt.NDArray[np.int32] = np.zeros((0, MAX_DEVICES), np.int32)
        #: uint8[slot, device]: kind number; 0 if there is no device.
        self.kind: npt.NDArray[np.uint8] = np.zeros((0, MAX_DEVICES), np.uint8)
        #: uint8[slot, device]: model number.
        self.model: npt.NDArray[np.uint8] = np.zeros((0, MAX_DEVICES), np.uint8)
        #: int16[slot, form]: GPU pods by form.
        self.census: npt.NDArray[np.int16] = np.zeros((0, FORMS), np.int16)
        #: bool[slot]: True if the slot ever had a device or a pod with devices; otherwise its rows
        #: are zeros.
        self.ever: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._kinds: dict[str, int] = {}
        #: Model names by number.
        self.model_names: list[str] = [""]
        self._models: dict[str, int] = {"": 0}

    def grow(self, size: int) -> None:
        """Grow the columns to ``size`` slots."""
        missing = size - len(self.free)
        if missing > 0:
            devices = np.zeros((missing, MAX_DEVICES), np.int32)
            self.free = np.vstack([self.free, devices])
            self.kind = np.vstack([self.kind, devices.astype(np.uint8)])
            self.model = np.vstack([self.model, devices.astype(np.uint8)])
            self.census = np.vstack([self.census, np.zeros((missing, FORMS), np.int16)])
            self.ever = np.concatenate([self.ever, np.zeros(missing, np.bool_)])

    def kind_number(self, name: str) -> int:
        """Return the number of a device kind (from 1), assigned at first use."""
        return self._kinds.setdefault(name, len(self._kinds) + 1)

    def model_number(self, name: str) -> int:
        """Return the number of a model, assigned at first use; 0 means "no model"."""
        found = self._models.get(name)
        if found is None:
            if len(self._models) > MAX_MODELS:
                raise InputError(
                    "device model", name, f"at most {MAX_MODELS} different models in a cluster"
                )
            self._models[name] = found = len(self._models)
            self.model_names.append(name)
        return found

    def model_mask(self, models: tuple[str, ...]) -> int:
        """Return the bit mask of allowed models; all bits are set if any model is allowed.

        A model that no node has may have no bit (names in pods must not use up the numbers), so a
        cached mask must be recomputed when ``model_names`` has grown.
        """
        if not models:
            return (1 << (MAX_MODELS + 1)) - 1
        mask = 0
        for name in models:
            if name in self._models or len(self._models) <= MAX_REQUESTED_MODELS:
                mask |= 1 << self.model_number(name)
        return mask

    def install(self, slot: int, kind: str, count: int, model: str) -> None:
        """Add ``count`` whole devices of a kind to a slot, after the existing ones."""
        self.ever[slot] = True
        number, model_number = self.kind_number(kind), self.model_number(model)
        empty = np.flatnonzero(self.kind[slot] == 0)[:count]
        self.kind[slot, empty] = number
        self.model[slot, empty] = model_number
        self.free[slot, empty] = WHOLE

    def inventory(self, slot: int) -> dict[str, tuple[int, str]]:
        """Return the installed devices of a slot: kind to (count, model of the first)."""
        found: dict[str, tuple[int, str]] = {}
        models = self.model_names
        for kind, number in self._kinds.items():
            devices = np.flatnonzero(self.kind[slot] == number)
            if len(devices):
                found[kind] = (len(devices), models[int(self.model[slot, devices[0]])])
        return found

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the kinds that nodes or pods have named."""
        return tuple(self._kinds)

    def use(
        self, slots: npt.NDArray[np.int64], kind: str
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the milli of a kind on each slot (int64[slot]), and the used part of them."""
        found = self.kind[slots] == self._kinds.get(kind, MAX_KINDS)
        offered = found.sum(axis=1, dtype=np.int64) * WHOLE
        return offered, offered - (self.free[slots] * found).sum(axis=1, dtype=np.int64)

    def clear(self, slot: int) -> None:
        """Remove all devices of a slot."""
        for column in (self.free, self.kind, self.model, self.census):
            column[slot] = 0

    def take(self, slot: int, mask: int, request: DeviceRequest, sign: int = 1) -> None:
        """Take (or release with ``sign`` -1) the devices of a mask for a request."""
        self.ever[slot] = True
        kind = self.kind_number(request.kind)
        for device in range(MAX_DEVICES):
            if mask >> device & 1 and self.kind[slot, device] == kind:
                self.free[slot, device] -= sign * request.milli
        form = 0 if request.milli < WHOLE else min(request.count, FORMS - 1)
        self.census[slot, form] += sign

    def guess(self, slot: int, request: DeviceRequest) -> int:
        """Return the most likely devices of a pod of another scheduler: the fullest that fit."""
        kind, models = self.kind_number(request.kind), self.model_mask(request.models)
        right = [
            d
            for d in range(MAX_DEVICES)
            if self.kind[slot, d] == kind and models >> int(self.model[slot, d]) & 1
        ]
        by_fullness = sorted(
            right, key=lambda d: (self.free[slot, d] < request.milli, self.free[slot, d], d)
        )
        return sum(1 << d for d in by_fullness[: request.count])

    def covers(self, slot: int, mask: int, request: DeviceRequest) -> bool:
        """Return whether a mask selects the requested number of free, allowed devices."""
        kind, models = self.kind_number(request.kind), self.model_mask(request.models)
        chosen = [d for d in range(MAX_DEVICES) if mask >> d & 1 and self.kind[slot, d] == kind]
        return len(chosen) == request.count and all(
            self.free[slot, d] >= request.milli and models >> int(self.model[slot, d]) & 1
            for d in chosen
        )


def mask_to_text(mask: int) -> str:
    """Return a device mask in its annotation form: ``0,3``."""
    return ",".join(str(d) for d in range(MAX_DEVICES) if mask >> d & 1)


def text_to_mask(text: str) -> int:
    """Parse a device annotation into a mask; unreadable parts are ignored."""
    parts = {part.strip() for part in text.split(",")}
    return sum(1 << d for d in range(MAX_DEVICES) if str(d) in parts)
