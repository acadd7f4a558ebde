"""Recommended requests of a container beside its requests, and the change that they suggest."""

from collections.abc import Iterator, Mapping
from enum import Enum

import msgspec

from stretto.api.types.capacity.vertical import CONTROLLED, ContainerRecommendation
from stretto.api.wire.quantity import amounts
from stretto.capacity.vertical.history import CpuHistory, VerticalConfig


class RequestAdvice(Enum):
    """Change of a request that a recommendation suggests."""

    #: The request is below the lower bound.
    RAISE = "raise"
    #: The request is above the upper bound.
    LOWER = "lower"
    #: There is no request.
    SET = "set"
    #: The request is within the bounds.
    KEEP = "keep"


class RecommendedRow(msgspec.Struct, frozen=True):
    """Recommended request of one resource of a container, in milli-CPU or bytes."""

    #: Kind (if it is known), namespace and name of the workload.
    workload: str
    #: Name of the container.
    container: str
    #: ``cpu`` or ``memory``.
    resource: str
    #: Largest request now; ``None`` without one.
    request: int | None
    #: Recommended request.
    target: int
    #: Request below which the container should be changed.
    lower_bound: int
    #: Request above which the container should be changed.
    upper_bound: int
    #: Change that the bounds suggest.
    advice: RequestAdvice
    #: Seconds between the first and the last measurement; ``None`` if they are unknown.
    history_s: float | None
    #: Confidence, which narrows the bounds: 1 for a day with a measurement each minute; ``None`` if
    #: it is unknown.
    confidence: float | None


class ContainerNow(msgspec.Struct, frozen=True):
    """A container of a workload now."""

    #: Kind (if it is known), namespace and name of the workload.
    workload: str
    #: Largest requests by resource, in milli-CPU and bytes.
    requests: Mapping[str, int]
    #: Duration and number of its measurements; ``None`` if they are unknown.
    sampled: CpuHistory | None = None


def recommended_rows(now: ContainerNow, found: ContainerRecommendation) -> Iterator[RecommendedRow]:
    """Yield a row for each recommended resource of a container.

    Raises:
        InputError: a recommended amount is malformed.
    """
    name = found.container_name
    target = amounts(found.target, f"target of {name}")
    lower = amounts(found.lower_bound, f"lowerBound of {name}")
    upper = amounts(found.upper_bound, f"upperBound of {name}")
    history, confidence = _certainty(now.sampled)
    for resource in CONTROLLED:
        if resource not in target:
            continue
        wanted, request = target[resource], now.requests.get(resource)
        bounds = lower.get(resource, wanted), upper.get(resource, wanted)
        advice = _advice(request, bounds)
        yield RecommendedRow(
            now.workload, name, resource, request, wanted, *bounds, advice, history, confidence
        )


def _advice(request: int | None, bounds: tuple[int, int]) -> RequestAdvice:
    if not request:
        return RequestAdvice.SET
    if request < bounds[0]:
        return RequestAdvice.RAISE
    return RequestAdvice.LOWER if request > bounds[1] else RequestAdvice.KEEP


def _certainty(sampled: CpuHistory | None) -> tuple[float | None, float | None]:
    """Duration in seconds and confidence of a history."""
    if sampled is None or not sampled.count:
        return None, None
    confidence = sampled.confidence(VerticalConfig().confidence_interval_s)
    return sampled.last_s - sampled.first_s, round(min(confidence, 1.0), 3)
