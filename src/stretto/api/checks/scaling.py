"""Validation of ScalingPolicies."""

from typing import Final

from stretto.api.checks import rules
from stretto.api.types.capacity.scaling import ScalingForecast, ScalingGroupSpec, ScalingPolicy
from stretto.api.wire import names
from stretto.api.wire.selectors import parse_labels
from stretto.base.errors import InputError

TARGETS: Final = ("Deployment", "StatefulSet", "ReplicaSet")
"""Kinds of workloads that a group can scale."""
MOST_SAMPLES: Final = 576
"""Maximum samples of a season, so that a status with three seasons stays small."""
_MOST: Final = 2**31 - 1
_DAY_S: Final = 86_400


def check_scaling_policy(policy: ScalingPolicy, where: str) -> None:
    """Validate a ScalingPolicy: metadata, groups, their limits and targets."""
    rules.metadata(policy.metadata, where, namespaced=True)
    spec, path = policy.spec, f"{where}spec"
    rules.within(spec.replicas, 0, _MOST, f"{path}.replicas")
    rules.within(spec.quota, 0, _MOST, f"{path}.quota")
    if spec.selector:
        parse_labels(spec.selector, f"{path}.selector")
    if spec.forecast is not None:
        _forecast(spec.forecast, f"{path}.forecast")
    if not spec.groups:
        raise InputError(f"{path}.groups", "[]", "at least one group")
    for index, group in enumerate(spec.groups):
        _group(group, f"{path}.groups[{index}]")
    rules.unique((each.name for each in spec.groups), f"{path}.groups", "rename one of the two")
    targets = ((each.target_ref.kind, each.target_ref.name) for each in spec.groups)
    rules.unique(targets, f"{path}.groups", "each workload belongs to one group")


def _forecast(forecast: ScalingForecast, path: str) -> None:
    step = forecast.sample_seconds
    rules.within(step, 10, _DAY_S, f"{path}.sampleSeconds")
    for name, value in (("season", forecast.season_seconds), ("ahead", forecast.ahead_seconds)):
        where = f"{path}.{name}Seconds"
        rules.within(value, step, MOST_SAMPLES * step, where, "raise sampleSeconds for longer")
        if value % step:
            raise InputError(where, value, f"a multiple of sampleSeconds, {step}")
    if not forecast.predictor:
        raise InputError(f"{path}.predictor", "", "the name of a predictor, such as seasonal")


def _group(group: ScalingGroupSpec, path: str) -> None:
    names.dns_label(group.name, f"{path}.name")
    rules.one_of(group.target_ref.kind, TARGETS, f"{path}.targetRef.kind")
    rules.one_of(group.target_ref.api_version, ("apps/v1",), f"{path}.targetRef.apiVersion")
    names.dns_subdomain(group.target_ref.name, f"{path}.targetRef.name")
    rules.within(group.step, 1, _MOST, f"{path}.step")
    _limits(group.min, group.max, path)
    for index, bound in enumerate(group.bounds):
        at = f"{path}.bounds[{index}]"
        _limits(bound.min, bound.max, at)
        rules.within(bound.duration_seconds, 1, _MOST, f"{at}.durationSeconds")
        if len(bound.start.split()) != 5:
            raise InputError(f"{at}.start", bound.start, "a cron expression of five fields")


def _limits(least: int, most: int, path: str) -> None:
    rules.within(least, 0, _MOST, f"{path}.min")
    rules.within(most, least, _MOST, f"{path}.max", "max is at least min")
