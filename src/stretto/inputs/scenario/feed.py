"""A scenario as objects to create before the start, and arrivals by time.

``stretto run`` and the copies of a scenario read this one form, for all sources.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from stretto.api.codec import decode
from stretto.api.types.godel import QueueSpec
from stretto.api.wire.kinds import POD, QUEUE, Kind
from stretto.base.rng import Rng
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.neutral.strict import inside, strict
from stretto.inputs.scenario.admission import admitted, check_unique, missing_namespaces
from stretto.inputs.scenario.arrivals import ObjectArrival, WorkContext, WorkloadArrivals
from stretto.inputs.scenario.demand import DemandStep, check_policies
from stretto.inputs.scenario.fleets import make_fleet
from stretto.inputs.scenario.schema import Scenario
from stretto.inputs.scenario.work import make_work


class Feed(msgspec.Struct, frozen=True):
    """Input of a plane."""

    #: Objects to create before the start, in this order.
    objects: Sequence[tuple[Kind, bytes]]
    #: Later objects by time; equal times in this order.
    arrivals: Sequence[ObjectArrival]
    #: The nodes in the neutral form, for reports and for policies that read the fleet.
    nodes: tuple[FleetNode, ...]
    #: Sentences about omitted objects and files of manifests.
    notes: Sequence[str] = ()
    #: Replicas of scaling policies over time, by time.
    demands: Sequence[DemandStep] = ()

    @property
    def pods(self) -> int:
        """Number of arriving pods."""
        return sum(each.kind is POD for each in self.arrivals)


def materialise(scenario: Scenario, rng: Rng) -> Feed:
    """The input that a scenario generates; the same seed gives the same bytes."""
    with inside(f"{scenario.where}: fleet"):
        fleet = make_fleet(scenario, rng.child("fleet"))
    objects = [*(_queue(each, index, scenario) for index, each in enumerate(scenario.queues))]
    objects.extend(fleet.objects)
    works: list[WorkloadArrivals] = []
    notes: list[str] = []
    for index, spec in enumerate(scenario.workloads):
        chance = rng.child("workload", spec.name or index)
        context = WorkContext(
            scenario, fleet.nodes, fleet.typed, list(objects), chance, f"work-{index}"
        )
        with inside(f"{scenario.where}: workloads[{index}]"):
            work = make_work(spec, context)
        objects.extend(work.objects)
        works.append(work)
        notes.extend(f"workloads[{index}]: {line}" for line in work.notes)
    arrivals = list(admitted(works, objects, scenario.where))
    objects.extend(missing_namespaces(objects, arrivals))
    check_unique(objects, arrivals, scenario.where)
    arrivals.sort(key=lambda each: each.time_s)
    demands = sorted((each for work in works for each in work.demands), key=lambda e: e.time_s)
    check_policies(demands, objects, scenario.where)
    return Feed(objects, arrivals, fleet.nodes, notes, demands)


def _queue(fields: Mapping[str, Any], index: int, scenario: Scenario) -> tuple[Kind, bytes]:
    """A queue of the scenario as an object."""
    spec = {name: value for name, value in fields.items() if name != "name"}
    strict(QueueSpec, spec, f"{scenario.where}: queues[{index}]")
    body = msgspec.json.encode(
        {
            "apiVersion": QUEUE.api_version,
            "kind": QUEUE.kind,
            "metadata": {"name": fields["name"]},
            "spec": spec,
        }
    )
    with inside(f"{scenario.where}: queues[{index}]"):
        decode(QUEUE, body)
    return QUEUE, body
