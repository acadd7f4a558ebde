"""Limits and stabilization of replica changes.

Source: Kubernetes' ``podautoscaler/horizontal.go``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from stretto.capacity.scaling.history import History, ScalingEvent

DOWNSCALE_WINDOW: Final = 300.0
"""Default seconds over which the largest recommendation counts."""
UP_FACTOR: Final = 2
"""Maximum growth factor without a behavior."""
UP_LEAST: Final = 4
"""Number of replicas to which growth is always allowed without a behavior."""


class PolicyType(Enum):
    """The unit of a policy."""

    #: A number of pods.
    PODS = "Pods"
    #: A percentage of the replicas at the start of the period.
    PERCENT = "Percent"


class Select(Enum):
    """Selection among several policies."""

    #: The policy that allows the larger change.
    MAX = "Max"
    #: The policy that allows the smaller change.
    MIN = "Min"
    #: No change in this direction.
    DISABLED = "Disabled"


@dataclass(frozen=True)
class RatePolicy:
    """Maximum change in a period."""

    #: Unit.
    type: PolicyType
    #: Number of pods or percentage.
    value: int
    #: Period in seconds.
    period: float


@dataclass(frozen=True)
class Direction:
    """Rules of one direction."""

    #: Seconds over which recommendations count.
    window: float
    #: Policies.
    policies: tuple[RatePolicy, ...]
    #: Selection among the policies.
    select: Select = Select.MAX

    @property
    def longest(self) -> float:
        """Seconds of the longest period."""
        return max((each.period for each in self.policies), default=0.0)


DEFAULT_UP: Final = Direction(
    0.0, (RatePolicy(PolicyType.PODS, 4, 15.0), RatePolicy(PolicyType.PERCENT, 100, 15.0))
)
"""Default growth: the larger of 4 pods and 100 % per 15 s."""
DEFAULT_DOWN: Final = Direction(DOWNSCALE_WINDOW, (RatePolicy(PolicyType.PERCENT, 100, 15.0),))
"""Default reduction: 100 % per 15 s, after the window."""


@dataclass(frozen=True)
class Behavior:
    """Rules of both directions."""

    #: Growth.
    up: Direction = DEFAULT_UP
    #: Shrinking.
    down: Direction = DEFAULT_DOWN


@dataclass(frozen=True)
class Bounds:
    """Limits of a workload."""

    #: Minimum number of replicas.
    least: int
    #: Maximum number of replicas.
    most: int
    #: Rules of change; ``None`` for the rules of workloads without a behavior.
    behavior: Behavior | None = None
    #: Seconds over which the largest recommendation counts without a behavior.
    downscale_window: float = DOWNSCALE_WINDOW


class Stabilized(Enum):
    """Effect of earlier recommendations on the desired replicas."""

    #: No effect.
    NO = "ReadyForNewScale"
    #: Fewer replicas would have been reached too soon.
    DOWN = "ScaleDownStabilized"
    #: More replicas would have been reached too soon.
    UP = "ScaleUpStabilized"


class Limited(Enum):
    """The limit that changed the stabilized replicas."""

    #: No limit.
    NO = "DesiredWithinRange"
    #: Rate of growth.
    UP_RATE = "ScaleUpLimit"
    #: Rate of reduction.
    DOWN_RATE = "ScaleDownLimit"
    #: Maximum number of replicas.
    MOST = "TooManyReplicas"
    #: Minimum number of replicas.
    LEAST = "TooFewReplicas"


@dataclass(frozen=True)
class ScalingStep:
    """Result of one evaluation."""

    #: New number of replicas.
    replicas: int
    #: Effect of earlier recommendations; ``None`` if the metrics did not count.
    stabilized: Stabilized | None = None
    #: Effect of the limits; ``None`` if the metrics did not count.
    limited: Limited | None = None


@dataclass
class Scaler:
    """The replicas of one workload over time."""

    #: Limits.
    bounds: Bounds
    #: Recommendations and changes.
    history: History = field(default_factory=History)

    def step(self, now: float, current: int, desired: int) -> ScalingStep:
        """Evaluate the workload.

        Current time in seconds, current replicas, and replicas that the metrics require.
        """
        bounds = self.bounds
        self.history.start(now, current)
        if not current:
            return ScalingStep(0)
        if bounds.least <= current <= bounds.most:
            found = self._normalized(now, current, desired)
        else:
            found = ScalingStep(bounds.most if current > bounds.most else bounds.least)
        if bounds.behavior is not None:
            self._record_change(now, current, found.replicas, bounds.behavior)
        return found

    def _normalized(self, now: float, current: int, desired: int) -> ScalingStep:
        behavior = self.bounds.behavior
        if behavior is None:
            window = self.bounds.downscale_window
            stable = self.history.largest(now, window, desired)
            replicas, limited = _doubled(self.bounds, current, stable)
            held = Stabilized.NO if stable == desired else Stabilized.DOWN
            return ScalingStep(replicas, held, limited)
        windows = behavior.up.window, behavior.down.window
        low, high = self.history.range(now, windows, desired)
        stable = min(max(current, low), high)
        replicas, limited = self._rate_limited(now, current, stable, behavior)
        held = Stabilized.UP if desired >= current else Stabilized.DOWN
        return ScalingStep(replicas, Stabilized.NO if stable == desired else held, limited)

    def _rate_limited(
        self, now: float, current: int, stable: int, behavior: Behavior
    ) -> tuple[int, Limited]:
        if stable > current:
            rate = max(self._limit(now, current, behavior.up, _UP), current)
            limit = min(self.bounds.most, rate)
            if stable > limit:
                return limit, Limited.UP_RATE if self.bounds.most > rate else Limited.MOST
        elif stable < current:
            rate = min(self._limit(now, current, behavior.down, _DOWN), current)
            limit = max(self.bounds.least, rate)
            if stable < limit:
                return limit, Limited.DOWN_RATE if self.bounds.least < rate else Limited.LEAST
        return stable, Limited.NO

    def _limit(self, now: float, current: int, rules: Direction, sign: int) -> int:
        if rules.select is Select.DISABLED:
            return current
        reached = []
        for policy in rules.policies:
            start = current - self.history.changed(now, policy.period)
            if policy.type is PolicyType.PODS:
                reached.append(start + sign * policy.value)
            else:
                share = start * (1 + sign * policy.value / 100)
                reached.append(math.ceil(share) if sign == _UP else int(share))
        farthest = (rules.select is Select.MAX) == (sign == _UP)
        pick: Callable[[list[int]], int] = max if farthest else min
        return pick(reached)

    def _record_change(self, now: float, current: int, replicas: int, rules: Behavior) -> None:
        if replicas == current:
            return
        direction = rules.up if replicas > current else rules.down
        self.history.record(ScalingEvent(now, replicas - current), direction.longest)


_UP: Final = 1
_DOWN: Final = -1


def _doubled(bounds: Bounds, current: int, stable: int) -> tuple[int, Limited]:
    rate = max(UP_FACTOR * current, UP_LEAST)
    most = min(bounds.most, rate)
    if stable < bounds.least:
        return bounds.least, Limited.LEAST
    if stable > most:
        return most, Limited.UP_RATE if bounds.most > rate else Limited.MOST
    return stable, Limited.NO
