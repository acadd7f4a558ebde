"""The published openb study on the real plane: one run has one policy, one seed and one pod list.

The orders of the nodes and of the arrivals are drawn from the seed; no pod ends; a pod that does
not fit is dropped but counts as arrived (Weng et al., FGD, ATC 2023). The plane has one shard and a
FIFO queue and does not retry. Allocation and fragmentation at every whole percent of arrival are
computed afterwards from the ordered decisions.
"""

from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.base.errors import InputError
from stretto.framework.compiled.ties import TieRule
from stretto.framework.compiled.typical import weighted_pods
from stretto.framework.engine.runtime import Runtime
from stretto.inputs.neutral.fleet import Fleet
from stretto.inputs.objects.objects import object_name
from stretto.inputs.traces.openb import protocol
from stretto.sim.bodies import PodEncoder
from stretto.sim.comparison.fragmentation import (
    NOWHERE,
    ArrivalDecisions,
    FleetColumns,
    FragmentationCurve,
    fleet_columns,
    replay,
    whole_percents,
)
from stretto.sim.policies import kinds_of, policy_profile
from stretto.sim.world import World, WorldConfig, build_world
from stretto.state.rows.devices import DeviceColumns

DIGITS: Final = 6
"""Decimals of percentages in reports."""

Ints = npt.NDArray[np.int64]


class PercentPoint(msgspec.Struct, frozen=True, gc=False):
    """The fleet at one whole percent of arrival."""

    #: GPU milli that have arrived, in percent of the fleet's.
    arrive_pct: int
    #: GPU milli allocated, in percent of the fleet's.
    gpu_alloc_pct: float
    #: GPU milli fragmented, in percent of the fleet's.
    frag_pct_of_cluster: float
    #: GPU milli fragmented, in percent of the idle GPU milli; 0 if none is idle.
    frag_pct_of_idle: float


class StudyRun(msgspec.Struct, frozen=True, gc=False):
    """Results of one run of the study."""

    #: The policy, by its name on the command line.
    policy: str
    #: The seed of all orders and draws.
    seed: int
    #: Pods that were bound.
    placed: int
    #: Pods that did not fit.
    failed: int
    #: GPU milli allocated at the end.
    gpu_milli_used: int
    #: GPU milli requested by pods that did not fit.
    gpu_milli_failed: int
    #: CPU milli allocated at the end.
    cpu_milli_used: int
    #: Nodes with at least one pod at the end.
    nodes_used: int
    #: GPU milli fragmented at the end.
    frag_gpu_milli: float
    #: The fleet at each whole percent of arrival.
    points: tuple[PercentPoint, ...]


class StudyRunSpec(NamedTuple):
    """Settings of one run."""

    #: The policy.
    policy: str
    #: The seed.
    seed: int
    #: GPU milli to submit, in percent of the fleet's; ``None`` submits the list once.
    arrive_pct: float | None = protocol.PUBLISHED_ARRIVE_PCT
    #: Order of nodes and pods: shuffled or as listed.
    order: protocol.ArrivalOrder = protocol.ArrivalOrder.SHUFFLE
    #: Kernel tier.
    tier: str = "auto"


class OpenbStudy:
    """One fleet with its pods, and the data that all runs share."""

    def __init__(self, fleet: Fleet) -> None:
        """Compute the typical pods of the list and the columns of the nodes."""
        #: The fleet.
        self.fleet = fleet
        #: The typical pods of the list.
        self.typical = protocol.typical_pods(fleet.pods)
        models = DeviceColumns()
        for node in fleet.nodes:
            models.model_number(node.gpu_model)
        self._weighted = weighted_pods(kinds_of(self.typical), models)
        self._columns: FleetColumns = fleet_columns(fleet, models.model_names)
        self._bodies = PodEncoder()

    def run(self, spec: StudyRunSpec) -> StudyRun:
        """Execute one run."""
        made, given = self.decide(spec)
        curve = replay(self.fleet, self._columns, made, self._weighted)
        return self._report(spec, made, given, curve)

    def decide(self, spec: StudyRunSpec) -> tuple[ArrivalDecisions, protocol.ProtocolInput]:
        """Let the plane decide on all arrivals, in order."""
        given = protocol.protocol_input(self.fleet, spec.seed, spec.arrive_pct, spec.order)
        profile = policy_profile(spec.policy, TieRule.ORDER, self.typical)
        config = WorldConfig(profile=profile, retry=False, seed=spec.seed, tier=spec.tier)
        world = build_world(config, self.fleet.nodes)
        row_of_slot = self._rank(world, given)
        pods = self.fleet.pods
        bodies = [
            self._bodies.body(pods[row], name)
            for row, name in zip(given.arrivals.tolist(), given.names, strict=True)
        ]
        world.submit_pods(bodies)
        world.plane.run_until_idle()
        return self._decisions(world, given, row_of_slot), given

    def _rank(self, world: World, given: protocol.ProtocolInput) -> Ints:
        """Set the order by which the shard breaks ties; returns the fleet's row of each slot."""
        slot_of = world.plane.cluster.nodes.by_name
        slots = np.array([slot_of[object_name(node.name)] for node in self.fleet.nodes], np.int64)
        runtime = world.plane.shards[0].default.runtime
        if not isinstance(runtime, Runtime):
            expected = "a profile that decides by class: the protocol breaks ties in its own order"
            raise InputError("profile", world.plane.config.profile.name, expected)
        runtime.sync()
        rank = np.zeros(runtime.columns.size, np.int32)
        rank[slots[given.node_order]] = np.arange(len(slots))
        runtime.ties.rank = rank
        row_of_slot = np.full(len(rank), NOWHERE, np.int64)
        row_of_slot[slots] = np.arange(len(slots))
        return row_of_slot

    def _decisions(
        self, world: World, given: protocol.ProtocolInput, rows: Ints
    ) -> ArrivalDecisions:
        """The placements, by arrival."""
        cluster = world.plane.cluster
        table = cluster.pods
        by_name = {table.name[row]: row for row in table.rows().tolist()}
        found = np.array([by_name[object_name(name)] for name in given.names], np.int64)
        slots = table.slot[found]
        node = np.where(slots >= 0, rows[np.maximum(slots, 0)], NOWHERE)
        return ArrivalDecisions(given.arrivals, node, table.devices[found].astype(np.int64))

    def _report(
        self,
        spec: StudyRunSpec,
        made: ArrivalDecisions,
        given: protocol.ProtocolInput,
        curve: FragmentationCurve,
    ) -> StudyRun:
        """The results of a run."""
        placed = made.node != NOWHERE
        gpu = np.array([pod.gpu_milli_total for pod in self.fleet.pods], np.int64)[made.pod]
        cpu = np.array([pod.cpu_milli for pod in self.fleet.pods], np.int64)[made.pod]
        return StudyRun(
            policy=spec.policy,
            seed=spec.seed,
            placed=int(placed.sum()),
            failed=int((~placed).sum()),
            gpu_milli_used=int(gpu[placed].sum()),
            gpu_milli_failed=int(gpu[~placed].sum()),
            cpu_milli_used=int(cpu[placed].sum()),
            nodes_used=len(np.unique(made.node[placed])),
            frag_gpu_milli=float(curve.fragmented[-1]) if len(placed) else 0.0,
            points=points_of(curve, given.arrived_pct, self.fleet.gpu_milli),
        )


def points_of(
    curve: FragmentationCurve, arrived: npt.NDArray[np.float64], gpu_milli: int
) -> tuple[PercentPoint, ...]:
    """A curve averaged within each whole percent of arrival."""
    whole = max(1, gpu_milli)
    idle = gpu_milli - curve.allocated
    of_idle = np.where(idle > 0, curve.fragmented / np.maximum(idle, 1), 0.0)
    percents, series = whole_percents(
        arrived,
        100.0 * curve.allocated / whole,
        100.0 * curve.fragmented / whole,
        100.0 * of_idle,
    )
    columns = [np.round(values, DIGITS).tolist() for values in series]
    return tuple(PercentPoint(*row) for row in zip(percents.tolist(), *columns, strict=True))
