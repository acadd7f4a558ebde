"""Measured loads of the nodes of a pool, and their thresholds, as columns.

Thresholds are those of Koordinator's LowNodeLoad, with its rounding.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.profile.capacity.hot_nodes import RESOURCES, HotNodeRules, LoadPool
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.resources import CPU, MEMORY

COLUMNS: Final = (CPU, MEMORY)
"""Resource columns of the measured resources."""
FULL: Final = 100.0
"""Percent of a resource without thresholds."""
THOUSAND: Final = 1000
"""Parts of a node in which its load is compared with that of others."""

Slots = npt.NDArray[np.int64]
"""int64: slots, or positions of nodes."""
Amounts = npt.NDArray[np.float64]
"""float64[node, resource]: milli-CPU at speed 1, and bytes."""


class NodeLoads(NamedTuple):
    """Nodes of a pool with recent measurements."""

    #: int64[k]: slots of the nodes.
    slots: Slots
    #: float64[k]: speeds of their CPUs.
    speeds: npt.NDArray[np.float64]
    #: Physical amounts.
    real: Amounts
    #: Measured use, without the pods that left since.
    used: Amounts
    #: Low threshold: a node receives pods up to this use.
    low: Amounts
    #: High threshold: pods are moved away from a node above this use.
    high: Amounts
    #: int64[resource]: weights of the resources.
    weights: Slots

    @property
    def is_low(self) -> npt.NDArray[np.bool_]:
        """bool[k]: nodes with no resource above its low threshold."""
        return np.asarray((self.used <= self.low).all(axis=1), np.bool_)

    @property
    def is_hot(self) -> npt.NDArray[np.bool_]:
        """bool[k]: nodes with a resource above its high threshold."""
        return np.asarray((self.used > self.high).any(axis=1), np.bool_)

    @property
    def scores(self) -> Slots:
        """int64[k]: weighted load in thousandths, by which the order of hot nodes is chosen."""
        used = np.minimum(self.used, self.real)
        parts = np.floor(THOUSAND * used / np.maximum(self.real, 1)).astype(np.int64)
        found: Slots = (parts * self.weights).sum(axis=1) // self.weights.sum()
        return found


def loads_of_pools(cluster: Cluster, rules: HotNodeRules) -> Iterator[NodeLoads]:
    """Yield the loads of each pool: nodes whose measurement is not much older than the newest."""
    nodes, reports = cluster.nodes, cluster.nodes.reports
    left = nodes.live_slots()
    left = left[reports.fresh_on(left, rules.expiration_seconds)]
    for pool in rules.pools:
        selected = nodes.labels.all_match(pool.selector().rules, left)
        yield _loads(cluster, rules, pool, left[selected])
        left = left[~selected]


def _loads(cluster: Cluster, rules: HotNodeRules, pool: LoadPool, slots: Slots) -> NodeLoads:
    """Loads of some slots by the thresholds of a pool."""
    ledger, reports = cluster.ledger, cluster.nodes.reports
    used = (reports.used_on(slots) - reports.gone_on(slots)[0]).clip(0).astype(np.float64)
    real = np.stack(
        [ledger.promises.real_on(c, slots, ledger.alloc[slots, c]) for c in COLUMNS], axis=1
    ).astype(np.float64)
    speeds = np.ones(len(slots))
    if rules.cpu_speeds is not None:
        speeds = rules.cpu_speeds.on(cluster.nodes, slots)
        used[:, 0], real[:, 0] = used[:, 0] * speeds, real[:, 0] * speeds
    low, high = _percents(pool, used, real)
    weights = np.array([pool.weights.get(name, 1) for name in RESOURCES], np.int64)
    return NodeLoads(slots, speeds, real, used, _part(real, low), _part(real, high), weights)


def _percents(pool: LoadPool, used: Amounts, real: Amounts) -> tuple[Amounts, Amounts]:
    """float64[resource], twice: low and high thresholds in percent."""
    low = np.array([pool.low.get(name, FULL) for name in RESOURCES])
    high = np.array([pool.high.get(name, FULL) for name in RESOURCES])
    if not pool.deviation:
        return low, high
    shares = np.where(real > 0, used / np.maximum(real, 1) * FULL, 0.0)
    mean = shares.sum(axis=0) / max(len(shares), 1)
    bound = np.array([name in pool.low for name in RESOURCES])
    below, above = np.clip(mean - low, 0.0, FULL), np.clip(mean + high, 0.0, FULL)
    return np.where(bound, below, FULL), np.where(bound, above, FULL)


def _part(real: Amounts, percents: Amounts) -> Amounts:
    return np.trunc(percents * 0.01 * real)
