"""Plans built by tests for the conflict check and the binder."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from stretto.state.rows.lifecycle import PodState
from stretto.state.work.claims import Plan, UnitClaims
from stretto.state.work.units import DEFAULT_QUEUE, Unit, UnitKind, Units
from tests.support.hand_fed_cluster import ClusterFeed


def wait_for(feed: ClusterFeed, *uids: str) -> None:
    """Mark pods as dispatched to a shard."""
    for uid in uids:
        feed.cluster.pods.state[feed.row(uid)] = PodState.DISPATCHED


def plan_of(
    feed: ClusterFeed,
    claims: Mapping[str, str],
    units: Sequence[int] = (),
    at_least: int = 0,
    devices: Sequence[int] = (),
) -> Plan:
    """A plan of claims (pod to node) on the current state; ``units`` are sizes, default 1."""
    cluster, count = feed.cluster, len(claims)
    rows = np.array([feed.row(uid) for uid in claims], np.int64)
    slots = np.array([feed.slot(node) for node in claims.values()], np.int32)
    marks = np.concatenate([[0], np.cumsum(units or [1] * count)]).astype(int).tolist()
    return Plan(
        shard=0,
        rows=rows,
        serials=cluster.pods.serial[rows].copy(),
        slots=slots,
        generations=cluster.ledger.slots.generation[slots].copy(),
        versions=cluster.ledger.version[slots].copy(),
        devices=np.array(devices or [0] * count, np.int32),
        units=[
            UnitClaims(a_unit(f"u{start}"), start, stop, at_least)
            for start, stop in pairwise(marks)
        ],
        setbacks=[],
    )


def a_unit(key: str, min_member: int = 1) -> Unit:
    return Unit(key, UnitKind.POD, min_member, DEFAULT_QUEUE, 1)


def units_of(plan: Plan) -> Units:
    """The units of a plan, found by row."""
    units = Units()
    units.grow(int(plan.rows.max(initial=0)) + 1)
    for claims in plan.units:
        for row in plan.rows[claims.start : claims.stop].tolist():
            units.by_row[row] = claims.unit
    return units
