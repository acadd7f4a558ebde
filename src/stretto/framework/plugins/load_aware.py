"""LoadAware: filters and scores nodes by the load that their agents measure.

The filter refuses nodes whose expected load exceeds a threshold; the score prefers low expected
load. The expected load is the measured load without the pods that left since, plus the scaled
requests of pods that were added since and of the pod itself: a measurement is up to a minute old.
Added pods include the claims of the current cycle, so the result depends on the slot and not on the
node object alone. A node without measurement passes with a score of 0; a measurement much older
than the newest one counts as none (or refuses, with ``filterExpiredNodeMetrics``). ``aggregated``
judges by a percentile of the last quarter of an hour instead of the last measurement. Percentages
refer to the real amounts, before overcommit.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.base.errors import InputError
from stretto.framework.compiled.amounts import ResourceAmount, amount_score
from stretto.framework.compiled.tables import CompiledScore, ScoreCode
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
from stretto.framework.contract.speeds import read_speeds
from stretto.state.classes.table import PodClass
from stretto.state.nodes.table import NodeFacts
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.resources import CPU, MEMORY, NEVER, SCAN_LIMIT, ResourceColumns
from stretto.state.rows.snapshot import DerivedAmounts
from stretto.state.work.units import Cure

IntAmounts = npt.NDArray[np.int64]
"""Exact amounts by slot."""

NAME: Final = "LoadAware"
COLUMNS: Final[Mapping[str, int]] = {"cpu": CPU, "memory": MEMORY}
"""Measured resources."""
MAY_USE: Final[Mapping[str, str]] = {name: f"stretto.dev/may-use-{name}" for name in COLUMNS}
"""Names of the columns of the amounts that may still be used below the threshold."""
LEFT: Final[Mapping[str, str]] = {name: f"stretto.dev/left-{name}" for name in COLUMNS}
"""Names of the columns of the amounts that are expected to stay free."""
HUNDRED: Final = 100
"""Parts of a scan step: derived amounts are in hundredths, so that percent factors are exact."""
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
    "cpuSpeeds",
)
PERCENTILES: Final[Mapping[str, float]] = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0}
"""Percentiles by their name in arguments."""
LONGEST_S: Final = 900
"""Seconds of the longest aggregation, which is also the default."""


class SlotAmounts(NamedTuple):
    """Promised amounts of a measured resource on some slots, in scan steps."""

    #: Name of the resource.
    name: str
    #: int64[k]: the slots.
    slots: SlotArray
    #: int64[k]: promised amounts.
    promised: IntAmounts
    #: int32[k]: free part of the promised amounts.
    free: IntArray


class LoadAwareRule(FilterRule, ScoreRule):
    """Filters and scores nodes by their measured load."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.SLOT
    SCORES_DERIVED: ClassVar[bool] = True
    CURES: ClassVar[Cure] = (
        Cure.POD_LEFT | Cure.NODE_ADDED | Cure.NODE_GREW | Cure.NODE_LABELS | Cure.POD_CHANGED
    )

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read weights, thresholds, factors, and the treatment of old measurements."""
        super().__init__(args)
        given = read.arguments(args, _KEYS, NAME)
        where = f"args of {NAME}"
        weights = read.resource_weights(given.get("resources"), f"{where}: resources")
        #: Weights by resource.
        self.weights = {read.one_of(n, COLUMNS, f"{where}: resources"): w for n, w in weights}
        #: Percent that may be used, by resource; 0 for no limit.
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
        #: True if old measurements refuse a node.
        self.refuses_old = expired
        aggregated = read.mapping(given.get("aggregated"), _AGGREGATED, f"{where}: aggregated")
        #: Percentile by which the filter judges; 0 for the last measurement.
        self.filter_percentile = _percentile(aggregated, "usageAggregationType", where)
        #: Percentile by which nodes are scored; 0 for the last measurement.
        self.score_percentile = _percentile(aggregated, "scoreAggregationType", where)
        #: Seconds of measurements that a percentile includes.
        self.duration = read.whole(
            aggregated.get("durationSeconds", LONGEST_S),
            1,
            LONGEST_S,
            f"{where}: aggregated.durationSeconds",
        )
        #: Speed of the CPUs of a node by a label; ``None`` if all are equally fast.
        self.speeds = read_speeds(given.get("cpuSpeeds"), f"{where}: cpuSpeeds")
        read.one_of(
            given.get("estimator", "nodeMetric"), ("nodeMetric", "default"), f"{where}: estimator"
        )

    def signature(self, pod: PodClass) -> Hashable | None:
        """The pod's requests of measured resources."""
        requested = dict(pod.requests)
        return tuple(requested.get(column, 0) for column in COLUMNS.values())

    def derived(self, nodes: NodeFacts, ledger: Ledger) -> "ExpectedUse | None":
        """Columns of the usable and of the remaining amounts, by resource.

        ``None`` if the score may prefer a slot that the columns would refuse: without a threshold,
        with a threshold of 100 %, or with different measurements for filter and score.
        """
        bounded = all(1 <= self.thresholds.get(name, 0) < TOP_SCORE for name in self.weights)
        same = self.filter_percentile == self.score_percentile
        return ExpectedUse(self, nodes, ledger) if bounded and same else None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where no threshold would be exceeded."""
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
        known, resources = self.known(view.nodes, slots), view.columns.ledger.resources
        left, amounts = self._spent(view, slots, self.score_percentile), []
        for name in self.weights:
            spent, real = left[name]
            whole = np.where(known, (HUNDRED * real).clip(0, SCAN_LIMIT), 0).astype(np.int32)
            free = (whole - spent).clip(-SCAN_LIMIT, SCAN_LIMIT).astype(np.int32)
            with np.errstate(divide="ignore"):
                percent = np.where(whole > 0, np.float32(100) / whole.astype(np.float32), 0)
            taken = self.taken(pod, name, resources)
            amounts.append(ResourceAmount(free, percent.astype(np.float32), taken))
        return amount_score(self._mean((NEVER,) * len(amounts)), amounts)

    def compiled(self, resources: ResourceColumns) -> CompiledScore:
        """Compiled mean over the columns of remaining amounts that ``derived`` registered."""
        return self._mean(tuple(resources.column(LEFT[name]) for name in self.weights))

    def _mean(self, columns: tuple[int, ...]) -> CompiledScore:
        """Weighted mean of the remaining amounts in these columns."""
        weights = tuple(float(weight) for weight in self.weights.values())
        return CompiledScore(ScoreCode.LEAST, columns, weights)

    def taken(self, pod: PodClass, name: str, resources: ResourceColumns) -> int:
        """Expected use of a resource by a pod, in hundredths of a scan step."""
        column = COLUMNS[name]
        steps = resources.scaled_request(column, dict(pod.requests).get(column, 0))
        return min(self.factors.get(name, HUNDRED) * steps, NEVER)

    def known(self, nodes: NodeFacts, slots: SlotArray) -> BoolArray:
        """bool[k]: true where a recent measurement exists."""
        return nodes.reports.fresh_on(slots, self.expiration)

    def spent(
        self, nodes: NodeFacts, ledger: Ledger, of: "SlotAmounts", percent: float
    ) -> tuple[IntAmounts, IntAmounts]:
        """Expected use of some slots without a further pod, and the real amounts.

        Args:
            nodes: contains the reports.
            ledger: contains the real amounts.
            of: the slots, and their promised amounts.
            percent: the percentile to use as the measurement; 0 for the last measurement.

        Returns:
            int64[k] in hundredths of a scan step, and int64[k] in scan steps. CPU is in cores of
            speed 1, the unit of requests.
        """
        name, slots, promised, free = of
        column = COLUMNS[name]
        step, taken = ledger.resources.steps[column], promised - free
        gone_use, gone_requests = nodes.reports.gone_on(slots)
        there = nodes.reports.requested_on(slots) - gone_requests
        since = (taken - there[:, column] // step).clip(0)
        used = (self._used(nodes, slots, percent) - gone_use)[:, column].clip(0)
        real = ledger.promises.real_on(column, slots, ledger.alloc[slots, column]) // step
        if column == CPU and self.speeds is not None:
            speed = self.speeds.on(nodes, slots)
            used, real = (used * speed).astype(np.int64), (real * speed).astype(np.int64)
        factor = self.factors.get(name, HUNDRED)
        return HUNDRED * used // step + factor * since, np.maximum(real, 1)

    def _spent(
        self, view: View, slots: SlotArray, percent: float
    ) -> dict[str, tuple[IntAmounts, IntAmounts]]:
        columns, found = view.columns, {}
        for name, column in COLUMNS.items():
            promised = columns.alloc[column, slots].astype(np.int64)
            of = SlotAmounts(name, slots, promised, columns.free[column, slots])
            found[name] = self.spent(view.nodes, columns.ledger, of, percent)
        return found

    def _refused(self, pod: PodClass, view: View, slots: SlotArray) -> dict[str, BoolArray]:
        known, found = self.known(view.nodes, slots), {}
        use, resources = (
            self._spent(view, slots, self.filter_percentile),
            view.columns.ledger.resources,
        )
        for name, threshold in self.thresholds.items():
            if threshold:
                spent, real = use[name]
                hot = spent + self.taken(pod, name, resources) > most_spent(real, threshold)
                found[HOT.format(name)] = hot & known
        if self.refuses_old:
            measured = view.nodes.reports.used_on(slots)[:, 0] >= 0
            found[EXPIRED] = measured & ~known
        return found

    def _used(self, nodes: NodeFacts, slots: SlotArray, percent: float) -> IntAmounts:
        """int64[k, 2]: the last measurement, or a percentile of the recent ones."""
        reports = nodes.reports
        used = reports.used_on(slots)
        if not percent:
            return used
        since = reports.measured_s[slots] - self.duration
        found = reports.history.percentile(slots, percent, since)
        return np.where(found >= 0, found, used)


class ExpectedUse:
    """The columns through which the kernels apply ``LoadAware``; see ``DerivedRule``."""

    def __init__(self, rule: LoadAwareRule, nodes: NodeFacts, ledger: Ledger) -> None:
        """Derive with the settings of a rule."""
        self._rule, self._nodes, self._ledger = rule, nodes, ledger
        self._limits = [(name, percent) for name, percent in rule.thresholds.items() if percent]
        names = [MAY_USE[name] for name, _ in self._limits] + [LEFT[name] for name in rule.weights]
        self._columns = np.array([ledger.resources.column(name) for name in names], np.int64)
        self._phase: tuple[int, BoolArray] = -1, np.zeros(0, np.bool_)

    @property
    def columns(self) -> IntAmounts:
        """int64[column]: usable amounts by resource, then remaining amounts by resource."""
        return self._columns

    @property
    def scored(self) -> int:
        """Number of columns of remaining amounts.

        A threshold below 100 % refuses before they reach 0.
        """
        return len(self._rule.weights)

    def amounts(self, pod: PodClass) -> list[tuple[int, int]]:
        """Expected use of a class, for both columns of each resource."""
        of = [name for name, _ in self._limits] + list(self._rule.weights)
        taken = [self._rule.taken(pod, name, self._ledger.resources) for name in of]
        return list(zip(self._columns.tolist(), taken, strict=True))

    def phase(self, size: int) -> BoolArray:
        """bool[slot]: true where the measurement is recent; only another report makes it old."""
        version, phase = self._phase
        if version != self._nodes.reports.version or len(phase) != size:
            phase = self._rule.known(self._nodes, np.arange(size))
            self._phase = self._nodes.reports.version, phase
        return phase

    def derive(self, slots: SlotArray, free: IntArray) -> DerivedAmounts:
        """Amounts in hundredths of a scan step.

        Unlimited on a slot without a recent measurement.
        """
        rule, known = self._rule, self._rule.known(self._nodes, slots)
        blank = np.full(len(slots), SCAN_LIMIT, np.int64)
        if rule.refuses_old:
            blank[self._nodes.reports.used_on(slots)[:, 0] >= 0] = -1
        use = {}
        for name, column in COLUMNS.items():
            promised = self._ledger.alloc[slots, column] // self._ledger.resources.steps[column]
            of = SlotAmounts(name, slots, promised.clip(0, SCAN_LIMIT), free[column])
            use[name] = rule.spent(self._nodes, self._ledger, of, rule.filter_percentile)
        rows, wholes = [], []
        for name, threshold in self._limits:
            spent, real = use[name]
            rows.append(np.where(known, most_spent(real, threshold) - spent, blank))
            wholes.append(np.zeros(len(slots), np.int64))
        for name in rule.weights:
            spent, real = use[name]
            whole = np.where(known, (HUNDRED * real).clip(0, SCAN_LIMIT), 0)
            rows.append(np.where(known, whole - spent, SCAN_LIMIT))
            wholes.append(whole)
        left = np.array(rows, np.int64).clip(-SCAN_LIMIT, SCAN_LIMIT)
        return DerivedAmounts(left.astype(np.int32), np.array(wholes, np.int32))


def most_spent(real: IntAmounts, threshold: int) -> IntAmounts:
    """int64[k]: the largest use, in hundredths, whose rounded percentage is within a threshold."""
    return ((2 * threshold + 1) * real - 1) // 2


def _percents(given: Mapping[str, Any], key: str, usual: Mapping[str, int]) -> dict[str, int]:
    where = f"args of {NAME}: {key}"
    found = read.mapping(given.get(key), COLUMNS, where)
    return {**usual, **{n: read.whole(p, 0, 1000, f"{where}.{n}") for n, p in found.items()}}


def _percentile(aggregated: Mapping[str, Any], key: str, where: str) -> float:
    """Read a percentile by its name; 0 if none is given."""
    if key not in aggregated:
        return 0.0
    return PERCENTILES[read.one_of(aggregated[key], PERCENTILES, f"{where}: aggregated.{key}")]
