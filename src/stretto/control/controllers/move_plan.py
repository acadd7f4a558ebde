"""Plans moves that free whole GPUs or whole nodes; nothing is written.

The free capacity fragments over time: half of a GPU on one node, a nearly idle node elsewhere. For
each node (or GPU) in use, those with the fewest pods first, the planner tests whether all its pods
fit on other nodes (or GPUs) in use. It packs them with the ``packing`` profile on a snapshot of its
own. If they fit, the planner moves them in that snapshot and continues. It does not move pods that
no controller recreates, members of a gang, pods bound to NUMA nodes, pods with inter-pod rules, and
pods that a rule of the profile, a disruption budget or the limit of the caller protects.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from stretto.base.rng import Rng
from stretto.control.controllers.fragmentation import FreeCapacity, Move, capacity_after
from stretto.control.controllers.movable import MoveLimits, may_leave
from stretto.framework.compiled.placement import PlacementRequest
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.state.classes.table import GPU
from stretto.state.rows.devices import MAX_DEVICES, WHOLE
from stretto.state.rows.resources import PODS
from stretto.state.work.rescheduling import ReschedulingGoal

HIDDEN: Final = -(1 << 28)
"""Free pod count that excludes a node as a target."""


class DefragPlan(NamedTuple):
    """Moves, with the fragmentation before and after them."""

    #: Goal of the plan: whole GPUs or whole nodes.
    goal: ReschedulingGoal
    #: The moves, in order.
    moves: tuple[Move, ...]
    #: Free capacity before the moves.
    before: FreeCapacity
    #: Free capacity after the moves, if every moved pod gets its target node.
    after: FreeCapacity


class MovePlanner:
    """Plans moves on a snapshot of its own."""

    def __init__(self, engine: CompiledProfile, limits: MoveLimits, tier: str = "auto") -> None:
        """Plan for the current state of the engine's cluster (see ``packing_engine``)."""
        self._cluster = engine.cluster
        self._limits = limits
        self._runtime = Runtime(engine, Rng(0), tier)
        self._owners: dict[int, str] = {}
        #: Keys of the units with pending pods.
        self._pending: set[str] = set()

    def plan(self, goal: ReschedulingGoal) -> DefragPlan:
        """Plan the moves for a goal."""
        runtime, budgets = self._runtime, self._limits.budgets
        self._pending = {unit.key for unit in self._limits.units if unit.pending}
        runtime.sync()
        budgets.sync()
        before = capacity_after(self._cluster)
        sources = self._nodes() if goal is ReschedulingGoal.NODES else self._gpus()
        hidden = self._exclude_targets(goal)
        moves = self._vacate_all(sources)
        for slot, places in hidden.items():
            runtime.columns.free[PODS, slot] = places
        after = capacity_after(self._cluster, moves)
        return DefragPlan(goal, tuple(moves), before, after)

    # ------------------------------------------------------------ sources

    def _placed(self) -> dict[int, list[int]]:
        """Rows of the pods on each slot."""
        pods = self._cluster.pods
        rows = np.flatnonzero(pods.slot[: pods.length] >= 0)
        found: dict[int, list[int]] = {}
        for row in rows.tolist():
            found.setdefault(int(pods.slot[row]), []).append(row)
        return found

    def _nodes(self) -> list[tuple[int, int, list[int]]]:
        """(slot, -1, rows) of nodes in use, those with the fewest pods first."""
        return sorted(
            ((slot, -1, rows) for slot, rows in self._placed().items()),
            key=lambda each: (len(each[2]), each[0]),
        )

    def _gpus(self) -> list[tuple[int, int, list[int]]]:
        """(slot, device, rows) of GPUs in partial use, the emptiest first."""
        pods, devices = self._cluster.pods, self._cluster.ledger.devices
        kind = devices.kind_number(GPU)
        found = []
        for slot, rows in self._placed().items():
            for d in range(MAX_DEVICES):
                part = 0 < devices.free[slot, d] < WHOLE
                if devices.kind[slot, d] == kind and part:
                    mine = [row for row in rows if int(pods.devices[row]) >> d & 1]
                    found.append((int(devices.free[slot, d]), slot, d, mine))
        return [(s, d, rows) for _, s, d, rows in sorted(found, key=lambda e: (-e[0], e[1], e[2]))]

    def _exclude_targets(self, goal: ReschedulingGoal) -> dict[int, int]:
        """Exclude nodes (or GPUs) that are free without the pods that are being evicted.

        Returns the hidden pod counts.
        """
        columns = self._runtime.columns
        hidden: dict[int, int] = {}
        if goal is ReschedulingGoal.NODES:
            used = {slot for slot, rows in self._placed().items() if self._has_staying(rows)}
            for slot in np.flatnonzero(columns.live).tolist():
                if slot not in used:
                    hidden[slot] = int(columns.free[PODS, slot])
                    columns.free[PODS, slot] = HIDDEN
        else:
            columns.device_free[columns.device_free == WHOLE] = 0
            for slot, device, rows in self._gpus():
                if rows and not self._has_staying(rows):
                    columns.device_free[slot, device] = 0
        columns.append(np.flatnonzero(columns.live).astype(np.int64))
        return hidden

    def _has_staying(self, rows: Sequence[int]) -> bool:
        """Return whether one of these pods is not being evicted."""
        return any(not self._cluster.pods.eviction_state[row] for row in rows)

    def _is_movable(self, rows: Sequence[int]) -> bool:
        """Return whether all these pods may be moved."""
        for row in rows:
            owner = self._owner(row)
            if f"OwnerUnit/{owner}" in self._pending:  # they would use the capacity of its target
                return False
            if not may_leave(self._cluster, self._limits, row, owner):
                return False
        return not self._limits.budgets.violating(rows)

    def _owner(self, row: int) -> str:
        if row not in self._owners:
            self._owners[row] = self._limits.owner_of(row)
        return self._owners[row]

    # ------------------------------------------------------------ moving in the snapshot

    def _vacate_all(self, sources: Iterable[tuple[int, int, list[int]]]) -> list[Move]:
        """Vacate nodes or GPUs in turn, within the limit.

        A node or GPU that receives a pod stays in use.
        """
        columns, names = self._runtime.columns, self._cluster.nodes.names
        devices = columns.device_free.copy()
        moves: list[Move] = []
        targets: set[str] = set()
        for step, (slot, device, rows) in enumerate(sources):
            if not rows or len(moves) + len(rows) > self._limits.moves:
                continue
            if device < 0:
                receives = names[slot] in targets
            else:
                receives = columns.device_free[slot, device] < devices[slot, device]
            if receives or not self._is_movable(rows):
                continue
            found = self._vacate(slot, device, rows)
            targets.update(move.target for move in found)
            moves += [move._replace(step=step) for move in found]
        return moves

    def _vacate(self, slot: int, device: int, rows: list[int]) -> list[Move]:
        """Move all pods of a node or GPU elsewhere in the snapshot, or none of them."""
        runtime, cluster = self._runtime, self._cluster
        columns, pods = runtime.columns, cluster.pods
        places, milli = int(columns.free[PODS, slot]), 0
        if device < 0:
            columns.free[PODS, slot] = HIDDEN
        else:
            milli = int(columns.device_free[slot, device])
            columns.device_free[slot, device] = 0
        columns.append(np.array([slot], np.int64))
        ids = pods.class_id[np.array(rows, np.int64)]
        placed = runtime.place(PlacementRequest(ids, [0, len(rows)], [len(rows)], rows=rows))
        if (placed.slots < 0).any():
            if device < 0:
                columns.free[PODS, slot] = places
            else:
                columns.device_free[slot, device] = milli
            columns.append(np.array([slot], np.int64))
            return []
        self._limits.budgets.spend(rows)
        names = cluster.nodes.names
        return [
            Move(
                row,
                int(pods.serial[row]),
                pods.key(row),
                self._owner(row),
                names[slot],
                names[int(target)],
            )
            for row, target in zip(rows, placed.slots.tolist(), strict=True)
        ]
