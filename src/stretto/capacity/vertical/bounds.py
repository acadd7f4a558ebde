"""Recommended requests of a container, with bounds that narrow as the history grows.

Source: the Vertical Pod Autoscaler's ``recommender/logic``. Amounts are milli-CPU and bytes; every
step truncates.
"""

import math
from typing import Final

import msgspec

from stretto.capacity.vertical.history import ContainerHistograms, VerticalConfig

MOST: Final = 10**14
"""Largest recommended amount: without a history there is no upper bound."""


class VerticalBounds(msgspec.Struct, frozen=True):
    """Recommended requests: milli-CPU and bytes."""

    #: Lower bound: with a smaller request, the container should be restarted.
    lower: tuple[int, int]
    #: Recommended request.
    target: tuple[int, int]
    #: Upper bound: with a larger request, the container should be restarted.
    upper: tuple[int, int]


def recommend(use: ContainerHistograms, config: VerticalConfig, containers: int) -> VerticalBounds:
    """Requests of a container; ``containers`` is the number of containers of its pod."""
    least = (
        _scaled(int(config.pod_min_cpu_millicores), 1 / containers),
        _scaled(int(config.pod_min_memory_mb * 2**20), 1 / containers),
    )
    confidence = use.sampled.confidence(config.confidence_interval_s)

    def bound(percentile: float, factor: float = 1.0) -> tuple[int, int]:
        amounts = (
            int(use.cpu.percentile(percentile) * 1000),
            int(use.memory.percentile(percentile)),
        )
        with_margin = (each + _scaled(each, config.safety_margin) for each in amounts)
        cpu, memory = (_scaled(each, factor) for each in with_margin)
        return max(cpu, least[0]), max(memory, least[1])

    return VerticalBounds(
        bound(config.lower_percentile, _power(0.001, confidence, -2.0)),
        bound(config.target_percentile),
        bound(config.upper_percentile, _power(1.0, confidence, 1.0)),
    )


def _power(multiplier: float, confidence: float, exponent: float) -> float:
    """Factor of a bound; without confidence, 0 or infinity."""
    if not confidence:
        return 0.0 if exponent < 0 else math.inf
    factor: float = (1 + multiplier / confidence) ** exponent
    return factor


def _scaled(amount: int, factor: float) -> int:
    """``amount`` times ``factor``, truncated, between 0 and :data:`MOST`."""
    if not amount:
        return 0
    return int(min(amount * factor, MOST))
