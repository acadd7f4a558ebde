"""The next best hosts of each claim, to be tried if its first host refuses.

Only claims that are decided by amounts, labels and inter-pod rules get further hosts. Claims with
devices, NUMA nodes, ports, volumes, domain caps or a fixed node go to one host, because their
decision covers more than a node.
"""

from collections.abc import Callable, Collection
from typing import Protocol

import numpy as np
import numpy.typing as npt

from stretto.base.rng import Rng
from stretto.framework.profile.host_rules import HostRules
from stretto.state.classes.table import PodClasses
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import Pods
from stretto.state.rows.snapshot import Columns
from stretto.state.work.claims import OtherHosts, Plan


class ScoringPlacer(Protocol):
    """An engine that scores all nodes for a class."""

    @property
    def columns(self) -> Columns:
        """The snapshot."""
        ...

    def row(self, class_id: int) -> npt.NDArray[np.int16]:
        """int16[slot]: 0 where the class is infeasible, else 1 + its score."""
        ...


class HostCandidates:
    """Adds further hosts to plans."""

    def __init__(
        self,
        placer: ScoringPlacer,
        tables: tuple[Pods, PodClasses],
        rules: HostRules,
        rng: Rng,
        in_flight: Callable[[], int] | None = None,
    ) -> None:
        """Score hosts on the snapshot of one loop.

        Args:
            placer: the engine of the loop.
            tables: pods and classes of the cluster.
            rules: number of hosts that a claim tries.
            rng: random numbers that break ties between hosts.
            in_flight: number of pods that other loops are placing; by default, all dispatched pods.
        """
        self._placer = placer
        self._pods, self._classes = tables
        self._rules = rules
        self._draw = rng.numpy()
        self._in_flight = in_flight

    def extend(self, plan: Plan, fixed: Collection[int] = ()) -> Plan:
        """Return the plan with further hosts; ``fixed`` are rows whose node is given."""
        rows = plan.rows
        count = self._rules.count(self._others(len(rows))) - 1
        if count < 1 or not len(rows):
            return plan
        classes = self._pods.class_id[rows]
        free = (self._classes.special[classes] == 0) & (self._pods.volumes[rows] == 0)
        if fixed:
            free &= ~np.isin(rows, np.fromiter(fixed, np.int64))
        found: dict[int, OtherHosts] = {}
        for class_id in np.unique(classes[free]).tolist():
            claims = np.flatnonzero(free & (classes == class_id)).tolist()
            best = self._best(class_id, count + 1)
            for claim in claims:
                others = self._without(best, int(plan.slots[claim]), count)
                if len(others.slots):
                    found[claim] = others
        return plan._replace(alternatives=found) if found else plan

    def _others(self, own: int) -> int:
        """Number of pods that other loops are placing."""
        if self._in_flight is not None:
            return self._in_flight()
        states = self._pods.state[: self._pods.length]
        return int(np.count_nonzero(states == int(PodState.DISPATCHED))) - own

    def _best(self, class_id: int, count: int) -> OtherHosts:
        """Best hosts of a class, best first; ties are ordered at random."""
        row = self._placer.row(class_id)
        feasible = np.flatnonzero(row > 0)
        keys = row[feasible] + 0.5 * self._draw.random(len(feasible))
        if len(feasible) > count:
            top = np.argpartition(keys, -count)[-count:]
            feasible, keys = feasible[top], keys[top]
        slots = feasible[np.argsort(-keys, kind="stable")].astype(np.int32)
        scores = row[slots].astype(np.int32)
        behind = int(scores[0]) - scores if len(scores) else scores
        return OtherHosts(slots, self._placer.columns.generation[slots], behind)

    @staticmethod
    def _without(best: OtherHosts, slot: int, count: int) -> OtherHosts:
        """Best hosts without one host."""
        left = best.slots != slot
        return OtherHosts(*(each[left][:count] for each in best))
