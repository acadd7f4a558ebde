"""Validation of VerticalPodAutoscalers."""

from stretto.api.checks import rules
from stretto.api.types.capacity.vertical import (
    CONTROLLED,
    EVERY_CONTAINER,
    ContainerVerticalPolicy,
    VerticalPodAutoscaler,
)
from stretto.api.wire import names
from stretto.api.wire.quantity import thousandths
from stretto.base.errors import InputError


def check_vertical_autoscaler(autoscaler: VerticalPodAutoscaler, where: str) -> None:
    """Validate a VerticalPodAutoscaler: metadata, target, recommender and policies."""
    rules.metadata(autoscaler.metadata, where, namespaced=True)
    spec, path = autoscaler.spec, f"{where}spec"
    names.dns_subdomain(spec.target_ref.name, f"{path}.targetRef.name")
    if not spec.target_ref.kind:
        raise InputError(f"{path}.targetRef.kind", "", "the kind of a workload")
    if len(spec.recommenders) > 1:
        found = ", ".join(each.name for each in spec.recommenders)
        raise InputError(f"{path}.recommenders", found, "at most one recommender")
    policies = spec.resource_policy.container_policies if spec.resource_policy else ()
    at = f"{path}.resourcePolicy.containerPolicies"
    for index, each in enumerate(policies):
        _policy(each, f"{at}[{index}]")
    rules.unique((each.container_name for each in policies), at, "remove one of the two")


def _policy(policy: ContainerVerticalPolicy, path: str) -> None:
    if policy.container_name != EVERY_CONTAINER:
        names.dns_label(policy.container_name, f"{path}.containerName")
    for resource in policy.controlled_resources:
        rules.one_of(resource, CONTROLLED, f"{path}.controlledResources")
    for resource, most in policy.max_allowed.items():
        least = policy.min_allowed.get(resource)
        if least is None:
            continue
        where = f"{path}.minAllowed.{resource}"
        limit = thousandths(most, f"{path}.maxAllowed.{resource}")
        if thousandths(least, where) > limit:
            raise InputError(where, least, f"at most maxAllowed.{resource}, {most}")
