"""What comes while a plane runs, and at which second.

All workloads end in arrivals: a pod (or the PodGroup that goes before its gang), the second at
which it comes, and when it leaves again: at a fixed second, or so many seconds after it started.
A unit comes as one: times are given to gangs and owners, not to their pods.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.types.core import Node
from stretto.api.wire.kinds import Kind
from stretto.base.rng import Rng
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.scenario.schema import ArrivalSpec, Scenario
from stretto.inputs.scenario.workloads import Diurnal, diurnal_times, poisson_times, regular_times

Times = npt.NDArray[np.float64]
"""Seconds of arrivals."""


class ObjectArrival(msgspec.Struct, frozen=True, gc=False):
    """An object that comes while the plane runs."""

    #: Second of the scenario at which it comes.
    time_s: float
    #: Its kind: a pod, or the PodGroup of pods that come with it.
    kind: Kind
    #: Its namespace.
    namespace: str
    #: Its name.
    name: str
    #: Its JSON.
    body: bytes
    #: Second at which it leaves, placed or not; ``None`` when it stays or ``duration_s`` rules.
    departure_s: float | None = None
    #: Seconds that it runs once started; ``None`` when it stays or ``departure_s`` rules.
    duration_s: float | None = None


class WorkloadArrivals(msgspec.Struct, frozen=True):
    """What one workload comes to."""

    #: Objects that are there before the start.
    objects: Sequence[tuple[Kind, bytes]]
    #: What comes, in no particular order but units before and beside their pods.
    arrivals: Sequence[ObjectArrival]


class WorkContext(msgspec.Struct, frozen=True):
    """What a workload is made from beside its own keys."""

    #: The whole scenario.
    scenario: Scenario
    #: The scenario's machines, as far as they are known in the neutral form.
    nodes: tuple[FleetNode, ...]
    #: The same machines as objects, for DaemonSets.
    node_objects: Sequence[Node]
    #: Where this workload draws from.
    rng: Rng
    #: What names begin with where neither trace nor scenario give one.
    prefix: str


def times_of(spec: ArrivalSpec | None, count: int, rng: Rng) -> Times:
    """The seconds of ``count`` arrivals; without a specification all at the start."""
    if spec is None or spec.at is not None:
        return np.full(count, spec.at if spec and spec.at else 0.0)
    if spec.rate is not None:
        return poisson_times(count, spec.rate, rng.child("times"), spec.start)
    if spec.diurnal is not None:
        swing = Diurnal(spec.diurnal.low, spec.diurnal.high, spec.diurnal.period)
        return diurnal_times(count, swing, rng.child("times"), spec.start)
    return regular_times(count, spec.every or 0.0, spec.start)


def numbered_units(groups: Sequence[str]) -> list[tuple[bool, int]]:
    """For each pod its unit's number, and whether it is the first of it; no group is a unit alone.

    >>> numbered_units(["a", "", "a", ""])
    [(True, 0), (True, 1), (False, 0), (True, 2)]
    """
    seen: dict[str, int] = {}
    result, count = [], 0
    for group in groups:
        if group in seen:
            result.append((False, seen[group]))
            continue
        if group:
            seen[group] = count
        result.append((True, count))
        count += 1
    return result
