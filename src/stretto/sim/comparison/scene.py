"""The published openb study on the real plane: one run is one policy, one seed, one list of pods.

Nodes stand in an order drawn from the seed, pods arrive in another, nothing ever leaves, and what
does not fit is dropped but counts as arrived (Weng et al., FGD, ATC 2023). The plane has one shard,
serves first come first and does not retry. Allocation and fragmentation at every whole percent of
arrival are computed afterwards from the decisions in their order.
"""

from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.wire.kinds import POD
from stretto.base.errors import InputError
from stretto.framework.compiled.tables import TypicalPodTable
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
    machines_of,
    replay,
    whole_percents,
)
from stretto.sim.policies import kinds_of, policy_profile
from stretto.sim.world import AT_ONCE, World, WorldConfig, build_world, require_accepted
from stretto.state.rows.devices import DeviceColumns

DIGITS: Final = 6
"""Decimals of percentages in reports: far below what any comparison can see."""

Ints = npt.NDArray[np.int64]


class PercentPoint(msgspec.Struct, frozen=True, gc=False):
    """The fleet at one whole percent of arrival."""

    #: GPU milli that have arrived, in percent of the fleet's.
    arrive_pct: int
    #: GPU milli allocated, in percent of the fleet's.
    gpu_alloc_pct: float
    #: GPU milli fragmented, in percent of the fleet's.
    frag_pct_of_cluster: float
    #: GPU milli fragmented, in percent of what is idle; 0 where nothing is.
    frag_pct_of_idle: float


class StudyRun(msgspec.Struct, frozen=True, gc=False):
    """One run of the study."""

    #: The policy, as it is spelled on the command line.
    policy: str
    #: The seed of all orders and draws.
    seed: int
    #: Pods that got a node.
    placed: int
    #: Pods that did not fit when their turn came.
    failed: int
    #: GPU milli allocated in the end.
    gpu_milli_used: int
    #: GPU milli asked for by pods that did not fit.
    gpu_milli_failed: int
    #: CPU milli allocated in the end.
    cpu_milli_used: int
    #: Nodes with at least one pod in the end.
    nodes_used: int
    #: GPU milli fragmented in the end.
    frag_gpu_milli: float
    #: The way there.
    points: tuple[PercentPoint, ...]


class StudyRunSpec(NamedTuple):
    """One run to make."""

    #: The policy.
    policy: str
    #: The seed.
    seed: int
    #: How far to fill, in percent of the fleet's GPU milli; ``None`` takes the list as it is.
    arrive_pct: float | None = protocol.PUBLISHED_ARRIVE_PCT
    #: Whether nodes and pods are shuffled.
    order: protocol.ArrivalOrder = protocol.ArrivalOrder.SHUFFLE
    #: Kernel tier.
    tier: str = "auto"


class OpenbStudy:
    """One fleet and its pods, and everything about them that all runs share."""

    def __init__(self, fleet: Fleet) -> None:
        """Count the typical pods of the list as it is, and make columns of the nodes."""
        #: The fleet.
        self.fleet = fleet
        #: The typical pods, as counted.
        self.typical = protocol.typical_pods(fleet.pods)
        models = DeviceColumns()
        for node in fleet.nodes:
            models.model_number(node.gpu_model)
        self._weighted: TypicalPodTable = weighted_pods(kinds_of(self.typical), models)
        self._machines: FleetColumns = machines_of(fleet, models.model_names)
        self._bodies = PodEncoder()

    def run(self, asked: StudyRunSpec) -> StudyRun:
        """Make one run."""
        made, given = self.decide(asked)
        curve = replay(self.fleet, self._machines, made, self._weighted)
        return self._report(asked, made, given, curve)

    def decide(self, asked: StudyRunSpec) -> tuple[ArrivalDecisions, protocol.ProtocolInput]:
        """Let the plane decide on every arrival, in order."""
        given = protocol.protocol_input(self.fleet, asked.seed, asked.arrive_pct, asked.order)
        profile = policy_profile(asked.policy, TieRule.ORDER, self.typical)
        config = WorldConfig(profile=profile, retry=False, seed=asked.seed, tier=asked.tier)
        world = build_world(config, self.fleet.nodes)
        row_of_slot = self._rank(world, given)
        pods = self.fleet.pods
        bodies = [
            self._bodies.body(pods[row], name)
            for row, name in zip(given.arrivals.tolist(), given.names, strict=True)
        ]
        for low in range(0, len(bodies), AT_ONCE):
            require_accepted(world.store.create(POD, bodies[low : low + AT_ONCE]))
            world.poll()
        world.plane.run_until_idle()
        return self._decisions(world, given, row_of_slot), given

    def _rank(self, world: World, given: protocol.ProtocolInput) -> Ints:
        """Tell the shard which node wins among equals; returns the fleet's row of each slot."""
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
        """What is bound, by arrival."""
        cluster = world.plane.cluster
        table = cluster.pods
        by_name = {table.name[row]: row for row in table.rows().tolist()}
        found = np.array([by_name[object_name(name)] for name in given.names], np.int64)
        slots = table.slot[found]
        node = np.where(slots >= 0, rows[np.maximum(slots, 0)], NOWHERE)
        return ArrivalDecisions(given.arrivals, node, table.devices[found].astype(np.int64))

    def _report(
        self,
        asked: StudyRunSpec,
        made: ArrivalDecisions,
        given: protocol.ProtocolInput,
        curve: FragmentationCurve,
    ) -> StudyRun:
        """The run in figures."""
        placed = made.node != NOWHERE
        gpu = np.array([pod.gpu_milli_total for pod in self.fleet.pods], np.int64)[made.pod]
        cpu = np.array([pod.cpu_milli for pod in self.fleet.pods], np.int64)[made.pod]
        return StudyRun(
            policy=asked.policy,
            seed=asked.seed,
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
    """A curve at every whole percent of arrival, averaged within each."""
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


def as_json(run: StudyRun) -> dict[str, Any]:
    """A run as a JSON object."""
    found: dict[str, Any] = msgspec.to_builtins(run)
    return found
