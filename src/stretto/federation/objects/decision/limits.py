"""Limits on the replicas of single clusters: bounds and shares of the policy, observations."""

from collections.abc import Mapping

from stretto.federation.objects.rules.steering import Steering
from stretto.federation.scheduling.workload import ReplicaLimits


def limits_of(rules: Steering) -> ReplicaLimits:
    """The limits by the effective rules of an object."""
    preferences = {each.cluster: each.preferences for each in rules.placements}
    migration = rules.auto_migration
    observed = rules.observed if migration is not None else None
    minimum = {name: x.min_replicas for name, x in preferences.items() if x.min_replicas}
    return ReplicaLimits(
        minimum=minimum,
        maximum=given({name: each.max_replicas for name, each in preferences.items()}),
        weights=given({name: each.weight for name, each in preferences.items()}),
        limited=rules.limited,
        estimated=(observed.estimated_capacity or {}) if observed else {},
        scheduled=(observed.scheduled_replicas or {}) if observed else {},
        keep_unschedulable=migration is not None and migration.keep_unschedulable_replicas,
        avoid_disruption=rules.avoid_disruption,
    )


def given(values: Mapping[str, int | None]) -> dict[str, int]:
    """The values that are set."""
    return {name: value for name, value in values.items() if value is not None}
