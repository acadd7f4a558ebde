"""The limits of an autoscaler as values of the calculation."""

from stretto.api.types.capacity.autoscaling import AutoscalerRules, AutoscalerSpec
from stretto.api.wire.quantity import nano
from stretto.capacity.scaling.behavior import (
    DEFAULT_DOWN,
    DEFAULT_UP,
    Behavior,
    Bounds,
    Direction,
    PolicyType,
    RatePolicy,
    Select,
)
from stretto.capacity.scaling.replicas import Tolerance


def bounds_of(spec: AutoscalerSpec) -> Bounds:
    """Bounds of the replicas and of their changes."""
    behavior = None
    if spec.behavior is not None:
        up, down = spec.behavior.scale_up, spec.behavior.scale_down
        behavior = Behavior(_direction(up, DEFAULT_UP), _direction(down, DEFAULT_DOWN))
    return Bounds(spec.min_replicas, spec.max_replicas, behavior)


def tolerance_of(spec: AutoscalerSpec) -> Tolerance:
    """Deviations from the target that do not change the replicas."""
    plain, behavior = Tolerance(), spec.behavior
    if behavior is None:
        return plain
    up = _fraction(behavior.scale_up, plain.up)
    return Tolerance(up, _fraction(behavior.scale_down, plain.down))


def _direction(rules: AutoscalerRules | None, default: Direction) -> Direction:
    if rules is None:
        return default
    window = rules.stabilization_window_seconds
    policies = tuple(
        RatePolicy(PolicyType(each.type), each.value, each.period_seconds)
        for each in rules.policies
    )
    return Direction(
        default.window if window is None else float(window),
        policies or default.policies,
        Select(rules.select_policy),
    )


def _fraction(rules: AutoscalerRules | None, default: float) -> float:
    if rules is None or rules.tolerance is None:
        return default
    return nano(rules.tolerance, "tolerance") / 1e9
