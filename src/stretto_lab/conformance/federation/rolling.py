"""Adapter from recorded inputs of KubeAdmiral's rollout planner to ``models.kubeadmiral``."""

from typing import Any

import msgspec

from stretto.federation.planner import fenceposts
from stretto_lab.models.kubeadmiral import rolling
from stretto_lab.models.kubeadmiral.rolling import (
    RollingLimits,
    RollingPlan,
    RollingTarget,
)

Fields = dict[str, Any]
"""The members of an input or of a result."""


class RolloutInput(msgspec.Struct, frozen=True):
    """The input of the family ``ka_rollout_plan``."""

    #: Replicas of the workload.
    replicas: int
    #: Surge.
    max_surge: int | str
    #: Unavailable pods.
    max_unavailable: int | str
    #: The workload in each cluster.
    targets: tuple[RollingTarget, ...]


def rollout_plan(given: Fields) -> Fields:
    """``ka_rollout_plan``: one round."""
    fields = msgspec.convert(given, RolloutInput)
    surge, down = fenceposts.resolve(fields.max_surge, fields.max_unavailable, fields.replicas)
    limits = RollingLimits(fields.replicas, surge, down)
    found = rolling.plan(limits, fields.targets)
    result: Fields = {
        "resolved_max_surge": surge,
        "resolved_max_unavailable": down,
        "pure_scaling": rolling.is_scaling(limits, fields.targets),
        "remaining_surge": limits.remaining_surge(fields.targets),
        "remaining_unavailable": limits.remaining_unavailable(fields.targets),
        "plans": {name: _fields(each) for name, each in found.plans.items()},
    }
    return result | {"rejected": True} if found.rejected else result


def _fields(plan: RollingPlan) -> Fields:
    shown = {
        "replicas": plan.replicas,
        "max_surge": plan.max_surge,
        "max_unavailable": plan.max_unavailable,
    }
    found: Fields = {name: each for name, each in shown.items() if each is not None}
    return found | {"only_replicas": True} if plan.only_replicas else found
