"""Estimated use of a pod that the metrics do not include yet.

Source: Koordinator's ``loadaware/estimator/default_estimator.go``.
"""

import math
from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from stretto.capacity.model.classes import Band

Amounts: TypeAlias = Mapping[str, int]
"""Amounts by resource: milli-CPU, bytes, units or percent."""

CPU: Final = "cpu"
MEMORY: Final = "memory"

DEFAULT_FACTORS: Final[Mapping[str, int]] = {CPU: 85, MEMORY: 70}
"""Percent of a request that a pod is expected to use."""

DEFAULT_USE: Final[Mapping[str, int]] = {CPU: 250, MEMORY: 200 * 1024 * 1024}
"""Expected use of a pod without a request: milli-CPU and bytes."""

BATCH_NAMES: Final = {CPU: "kubernetes.io/batch-cpu", MEMORY: "kubernetes.io/batch-memory"}
"""Extended resources that batch pods request instead of CPU and memory."""
MID_NAMES: Final = {CPU: "kubernetes.io/mid-cpu", MEMORY: "kubernetes.io/mid-memory"}
"""Extended resources that mid pods request instead of CPU and memory."""


class ClassNames(msgspec.Struct, frozen=True):
    """The names of CPU and memory for pods of a band, and their expected use by default."""

    #: Name of a resource in requests; a missing resource keeps its name.
    names: Mapping[str, str]
    #: Expected use without a request; 0 for a missing resource.
    default: Mapping[str, int]


#: Mid pods without a request have no weight, and free pods never have a weight.
KOORDINATOR_CLASSES: Final[Mapping[Band, ClassNames]] = {
    Band.MID: ClassNames(MID_NAMES, {}),
    Band.BATCH: ClassNames(BATCH_NAMES, DEFAULT_USE),
    Band.FREE: ClassNames({}, {}),
}
"""The names of Koordinator's bands; other bands use plain CPU and memory."""
PLAIN: Final = ClassNames({}, DEFAULT_USE)
"""Pods that request plain CPU and memory."""


def estimate(
    requests: Amounts, limits: Amounts, factors: Amounts, band: Band = Band.PROD
) -> dict[str, int]:
    """Expected use of a pod, for the resources of ``factors``.

    It is the larger of request and limit times the factor (in percent, rounded half away from
    zero), and at most the limit. Resources without a name in the band count 0.
    """
    words = KOORDINATOR_CLASSES.get(band, PLAIN)
    found = dict.fromkeys(factors, 0)
    for name, factor in factors.items():
        real = name if words is PLAIN else words.names.get(name)
        if real is not None:
            least = words.default.get(name, 0)
            found[name] = _one(requests.get(real, 0), limits.get(real, 0), factor, least)
    return found


def _one(request: int, limit: int, factor: int, default: int) -> int:
    wanted = max(request, limit)
    if not wanted:
        return default
    expected = math.floor(wanted * factor / 100 + 0.5)
    return min(expected, limit) if limit else expected
