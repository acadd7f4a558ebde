"""LoadAware: filters and scores nodes by the load that their agents measure.

The filter refuses nodes whose expected load exceeds a threshold; the score prefers low expected
load. The expected load is the measured load, plus the scaled requests of pods that came since, plus
the scaled requests of the pod itself: a measurement is up to a minute old and does not include
newer pods. Pods that came since include the claims of the current cycle, so the answer depends on
the slot and not on the node object alone. A node without measurement passes with a score of 0; a
measurement much older than the newest one counts as none (or refuses, with
``filterExpiredNodeMetrics``). ``aggregated`` judges by a percentile of the last quarter of an hour
instead of the last measurement. Percentages are those of the real amounts, before overcommit.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from stretto.base.errors import InputError
from stretto.framework.contract import arguments as read
from stretto.framework.contract.rule import (
    TOP_SCORE,
    BoolArray,
    FilterRule,
    IntArray,
    Refusal,
    Scope,
    ScoreRule,
    SlotArray,
    View,
)
from stretto.state.classes.table import PodClass
from stretto.state.rows.resources import CPU, MEMORY
from stretto.state.work.units import Cure

NAME: Final = "LoadAware"
COLUMNS: Final[Mapping[str, int]] = {"cpu": CPU, "memory": MEMORY}
"""Measured resources."""
THRESHOLDS: Final[Mapping[str, int]] = {"cpu": 65, "memory": 95}
"""Default thresholds: percent of a node that may be in use."""
FACTORS: Final[Mapping[str, int]] = {"cpu": 85, "memory": 70}
"""Default factors: percent of their requests that pods are expected to use."""
EXPIRATION: Final = 180
"""Seconds after which a measurement is old."""
HOT: Final = "node(s) {} usage exceed threshold"
EXPIRED: Final = "node(s) nodeMetric expired"
_AGGREGATED: Final = ("usageAggregationType", "scoreAggregationType", "durationSeconds")
_KEYS: Final = (
    "resources",
    "usageThresholds",
    "estimatedScalingFactors",
    "filterExpiredNodeMetrics",
    "nodeMetricExpirationSeconds",
    "estimator",
    "aggregated",
)
PERCENTILES: Final[Mapping[str, float]] = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0}
"""Percentiles by their name in arguments."""
LONGEST_S: Final = 900
"""Seconds of the longest aggregation, which is also the default."""


class LoadAwareRule(FilterRule, ScoreRule):
    """Filters and scores nodes by their measured load."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.SLOT
    CURES: ClassVar[Cure] = (
        Cure.POD_LEFT | Cure.NODE_ADDED | Cure.NODE_GREW | Cure.NODE_LABELS | Cure.POD_CHANGED
    )

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read weights, thresholds and factors by resource, and how to treat old measurements."""
        super().__init__(args)
        given = read.arguments(args, _KEYS, NAME)
        where = f"args of {NAME}"
        weights = read.resource_weights(given.get("resources"), f"{where}: resources")
        #: Weights by resource.
        self.weights = {read.one_of(n, COLUMNS, f"{where}: resources"): w for n, w in weights}
        #: Percent that may be used, by resource; 0 for any.
        self.thresholds = _percents(given, "usageThresholds", THRESHOLDS)
        #: Percent of requests that are expected to be used, by resource.
        self.factors = _percents(given, "estimatedScalingFactors", FACTORS)
        #: Seconds after which a measurement is old.
        self.expiration = read.whole(
            given.get("nodeMetricExpirationSeconds", EXPIRATION), 1, 1 << 31, where
        )
        expired = given.get("filterExpiredNodeMetrics", False)
        if not isinstance(expired, bool):
            raise InputError(f"{where}: filterExpiredNodeMetrics", expired, "true or false")
        #: Whether old measurements refuse.
        self.refuses_old = expired
        aggregated = read.mapping(given.get("aggregated"), _AGGREGATED, f"{where}: aggregated")
        #: The percentile by which the filter judges; 0 for the last measurement.
        self.filter_percentile = _percentile(aggregated, "usageAggregationType", where)
        #: The percentile by which nodes are scored; 0 for the last measurement.
        self.score_percentile = _percentile(aggregated, "scoreAggregationType", where)
        #: Seconds of measurements that a percentile covers.
        self.duration = read.whole(
            aggregated.get("durationSeconds", LONGEST_S),
            1,
            LONGEST_S,
            f"{where}: aggregated.durationSeconds",
        )
        read.one_of(
            given.get("estimator", "nodeMetric"), ("nodeMetric", "default"), f"{where}: estimator"
        )

    def signature(self, pod: PodClass) -> Hashable | None:
        """The pod's requests of measured resources."""
        requested = dict(pod.requests)
        return tuple(requested.get(column, 0) for column in COLUMNS.values())

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: True where no threshold would be exceeded."""
        passes = np.ones(len(slots), np.bool_)
        for each in self._refused(pod, view, slots).values():
            passes &= ~each
        return passes

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """One reason per resource, and one for old measurements."""
        found = self._refused(pod, view, slots)
        return [Refusal(reason, mask) for reason, mask in found.items() if mask.any()]

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: weighted mean of the expected free percentages; 0 without measurement."""
        known, total = self._known(view, slots), np.zeros(len(slots), np.float64)
        for name, weight in self.weights.items():
            used = self._used(view, slots, self.score_percentile)
            left = TOP_SCORE - self._percent(pod, view, slots, (name, used))
            total += weight * left.clip(0, TOP_SCORE)
        mean = (total / max(1, sum(self.weights.values()))).astype(np.int32)
        return np.where(known, mean, 0).astype(np.int32)

    def _refused(self, pod: PodClass, view: View, slots: SlotArray) -> dict[str, BoolArray]:
        known, found = self._known(view, slots), {}
        used = self._used(view, slots, self.filter_percentile)
        for name, threshold in self.thresholds.items():
            if threshold:
                hot = self._percent(pod, view, slots, (name, used)).round() > threshold
                found[HOT.format(name)] = hot & known
        if self.refuses_old:
            measured = view.nodes.reports.used_on(slots)[:, 0] >= 0
            found[EXPIRED] = measured & ~known
        return found

    def _known(self, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: True where a recent measurement exists."""
        return view.nodes.reports.fresh_on(slots, self.expiration)

    def _used(self, view: View, slots: SlotArray, percent: float) -> npt.NDArray[np.int64]:
        """int64[k, 2]: the last measurement, or a percentile of the recent ones."""
        reports = view.nodes.reports
        used = reports.used_on(slots)
        if not percent:
            return used
        found = reports.history.percentile(slots, percent, reports.newest_s - self.duration)
        return np.where(found >= 0, found, used)

    def _percent(
        self,
        pod: PodClass,
        view: View,
        slots: SlotArray,
        of: tuple[str, npt.NDArray[np.int64]],
    ) -> npt.NDArray[np.float64]:
        """float64[k]: expected use in percent of the real amount; ``of``: resource and use."""
        name, measured = of
        ledger, reports, column = view.columns.ledger, view.nodes.reports, COLUMNS[name]
        factor, requested = self.factors.get(name, 100) / 100, dict(pod.requests).get(column, 0)
        columns, step = view.columns, ledger.resources.steps[column]
        taken = (columns.alloc[column, slots] - columns.free[column, slots]).astype(np.int64) * step
        since = taken - reports.requested_on(slots)[:, column]
        used = measured[:, column] + factor * (np.maximum(since, 0) + requested)
        given = ledger.promises.real_on(column, slots, ledger.alloc[slots, column])
        return np.asarray(100.0 * used / np.maximum(given, 1), np.float64)


def _percents(given: Mapping[str, Any], key: str, usual: Mapping[str, int]) -> dict[str, int]:
    where = f"args of {NAME}: {key}"
    found = read.mapping(given.get(key), COLUMNS, where)
    return {**usual, **{n: read.whole(p, 0, 1000, f"{where}.{n}") for n, p in found.items()}}


def _percentile(aggregated: Mapping[str, Any], key: str, where: str) -> float:
    """A percentile by its name; 0 where none is given."""
    if key not in aggregated:
        return 0.0
    return PERCENTILES[read.one_of(aggregated[key], PERCENTILES, f"{where}: aggregated.{key}")]
