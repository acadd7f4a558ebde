"""The policies of containers: which resources have a recommendation, and its limits.

Source: the Vertical Pod Autoscaler's ``utils/vpa/capping.go``: the minimum first, then the maximum;
an amount of 0 is no limit.
"""

from collections.abc import Mapping
from typing import Final

from stretto.api.types.capacity.vertical import (
    CONTROLLED,
    EVERY_CONTAINER,
    ContainerRecommendation,
    ContainerScalingMode,
    ContainerVerticalPolicy,
    VerticalPodAutoscaler,
    VerticalRecommendation,
)
from stretto.api.wire.quantity import amounts, format_amount
from stretto.api.wire.resources import ResourceList
from stretto.capacity.vertical.bounds import VerticalBounds, recommend
from stretto.capacity.vertical.history import ContainerHistograms, VerticalConfig

_NONE: Final = ContainerVerticalPolicy()


def recommendation_of(
    autoscaler: VerticalPodAutoscaler,
    uses: Mapping[str, ContainerHistograms],
    config: VerticalConfig,
) -> VerticalRecommendation | None:
    """Return the recommendation for containers with samples; ``None`` without one.

    Args:
        autoscaler: the object with the policies.
        uses: histories of the containers of its pods, by name.
        config: parameters of recommendations.

    Raises:
        InputError: an amount of a policy is malformed.
    """
    policies = {name: policy_of(autoscaler, name) for name in uses}
    names = sorted(
        name
        for name, use in uses.items()
        if use.sampled.count and policies[name].mode is not ContainerScalingMode.OFF
    )
    found = [
        capped(name, recommend(uses[name], config, len(names)), policies[name]) for name in names
    ]
    return VerticalRecommendation(tuple(found)) if found else None


def policy_of(autoscaler: VerticalPodAutoscaler, container: str) -> ContainerVerticalPolicy:
    """Return the policy of a container, or that of all containers; without both, an empty one."""
    stated = autoscaler.spec.resource_policy
    named = {each.container_name: each for each in (stated.container_policies if stated else ())}
    return named.get(container) or named.get(EVERY_CONTAINER) or _NONE


def capped(
    container: str, bounds: VerticalBounds, policy: ContainerVerticalPolicy
) -> ContainerRecommendation:
    """Return the recommendation of a container within its policy.

    Raises:
        InputError: an amount of the policy is malformed.
    """
    least = amounts(policy.min_allowed, f"minAllowed of {container}")
    most = amounts(policy.max_allowed, f"maxAllowed of {container}")

    def limited(pair: tuple[int, int], capping: bool = True) -> ResourceList:
        found: ResourceList = {}
        for resource, wanted in zip(CONTROLLED, pair, strict=True):
            if resource in policy.controlled_resources:
                allowed = max(wanted, least.get(resource, 0)) if capping else wanted
                limit = most.get(resource) if capping else None
                found[resource] = format_amount(resource, min(allowed, limit or allowed))
        return found

    return ContainerRecommendation(
        container,
        limited(bounds.target),
        limited(bounds.lower),
        limited(bounds.upper),
        limited(bounds.target, capping=False),
    )
