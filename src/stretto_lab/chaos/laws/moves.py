"""Law 8 for moves: every move helps to free its node or GPU, so no pod is moved repeatedly."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from stretto.plane.plane import Plane
from stretto.state.numa.ledger import DEVICE_BITS
from stretto.state.queries.invariants import InvariantBreach
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.evictions import EvictionState
from stretto.state.work.rescheduling import ReschedulingGoal


def breaches_of_moves(
    plane: Plane, rows: Sequence[int], claimed: Collection[str]
) -> Iterator[InvariantBreach]:
    """Moves that leave as many nodes or GPUs in use as before.

    Moves of a node or GPU do not count if the store refused one of their evictions. Pods that were
    claimed after the plan, in the same step, do not count on the former nodes.
    """
    plan = plane.rescheduler.latest
    if plan is None:
        return
    pods = plane.cluster.pods
    there = [
        row
        for row in np.flatnonzero(pods.slot[: pods.length] != NO_SLOT).tolist()
        if pods.eviction_state[row] == EvictionState.NONE
    ]
    staying = [
        row
        for row in there
        if pods.uid[row] not in claimed and int(pods.state[row]) != PodState.NOMINATED
    ]
    targets = {move.row: move.target for move in plan.moves}
    steps = {move.row: move.step for move in plan.moves}
    refused = {steps[row] for row in targets if row in there}  # by the store, in the same step
    rows = [row for row in rows if steps[row] not in refused]
    if not rows:
        return
    if plan.goal is ReschedulingGoal.NODES:
        left = {plane.cluster.node_of(row) for row in rows}
        in_use = {plane.cluster.node_of(row) for row in there}
        kept = left.intersection(plane.cluster.node_of(row) for row in staying)
        if kept or not in_use.issuperset(targets[row] for row in rows):
            text = f"moves from {sorted(left)} do not reduce the number of nodes in use"
            yield InvariantBreach(8, text)
        return
    for row in rows:
        mask = int(pods.devices[row]) & DEVICE_BITS
        if any(pods.slot[r] == pods.slot[row] and int(pods.devices[r]) & mask for r in staying):
            yield InvariantBreach(8, f"the move of {pods.name[row]} frees no GPU")
