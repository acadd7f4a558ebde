"""Arrivals: objects that are created while a plane runs, and their times.

Every workload becomes arrivals: a pod (or the PodGroup before its gang), its second of creation,
and its end: at a fixed second, or a run time after its start. All pods of a unit arrive together.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.types.core import Node
from stretto.api.wire.kinds import Kind
from stretto.base.rng import Rng
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.scenario.demand import DemandStep
from stretto.inputs.scenario.schema import ArrivalSpec, Scenario
from stretto.inputs.scenario.workloads import Diurnal, diurnal_times, poisson_times, regular_times

Times = npt.NDArray[np.float64]
"""Seconds of arrivals."""


class ObjectArrival(msgspec.Struct, frozen=True, gc=False):
    """An object that is created while the plane runs."""

    #: Second of the scenario of its creation.
    time_s: float
    #: Its kind: Pod, or the PodGroup of pods that arrive with it.
    kind: Kind
    #: Its namespace.
    namespace: str
    #: Its name.
    name: str
    #: Its JSON.
    body: bytes
    #: Second of its deletion, bound or not; ``None`` if it stays or ``duration_s`` applies.
    departure_s: float | None = None
    #: Run time in seconds; ``None`` if it stays or ``departure_s`` applies.
    duration_s: float | None = None


class WorkloadArrivals(msgspec.Struct, frozen=True):
    """Objects and arrivals of one workload."""

    #: Objects that exist before the start.
    objects: Sequence[tuple[Kind, bytes]]
    #: Arrivals in no particular order, except that each unit precedes its pods.
    arrivals: Sequence[ObjectArrival]
    #: Sentences about omitted objects and files of its manifests.
    notes: Sequence[str] = ()
    #: True if its pods have passed admission.
    admitted: bool = False
    #: Replicas of scaling policies over time.
    demands: Sequence[DemandStep] = ()


class WorkContext(msgspec.Struct, frozen=True):
    """Context of a workload apart from its own keys."""

    #: The whole scenario.
    scenario: Scenario
    #: The scenario's nodes in the neutral form.
    nodes: tuple[FleetNode, ...]
    #: The same nodes as objects, for DaemonSets.
    node_objects: Sequence[Node]
    #: The objects that exist before it and that admission reads.
    objects: Sequence[tuple[Kind, bytes]]
    #: Random numbers of this workload.
    rng: Rng
    #: Default name prefix of its objects.
    prefix: str


def times_of(spec: ArrivalSpec | None, count: int, rng: Rng) -> Times:
    """Seconds of ``count`` arrivals; without a specification all at the start."""
    if spec is None or spec.at is not None:
        return np.full(count, spec.at if spec and spec.at else 0.0)
    if spec.rate is not None:
        return poisson_times(count, spec.rate, rng.child("times"), spec.start)
    if spec.diurnal is not None:
        swing = Diurnal(spec.diurnal.low, spec.diurnal.high, spec.diurnal.period)
        return diurnal_times(count, swing, rng.child("times"), spec.start)
    return regular_times(count, spec.every or 0.0, spec.start)


def numbered_units(groups: Sequence[str]) -> list[tuple[bool, int]]:
    """(first pod of its unit?, unit number) of each pod; a pod without a group is a unit.

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
