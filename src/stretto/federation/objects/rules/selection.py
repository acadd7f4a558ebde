"""Selection of the policy of an object: by its label, or else by the selectors of policies.

A label of the object has precedence over every selector, and policies of its namespace have
precedence over those of the cluster. Among policies that select an object the highest priority
applies; ties are broken by name and reported.
"""

from collections.abc import Iterable
from typing import NamedTuple

from stretto.api.types.federation.policies import PropagationPolicy, ResourceSelector
from stretto.reconcile.cache import Fields


class SelectedPolicy(NamedTuple):
    """The policy that selects an object."""

    #: The policy.
    policy: PropagationPolicy
    #: Names of further policies with the same priority.
    equals: tuple[str, ...] = ()


def selected(template: Fields, policies: Iterable[PropagationPolicy]) -> SelectedPolicy | None:
    """The policy of one scope that selects an object; ``None`` if there is none.

    Args:
        template: the object as it is sent to members.
        policies: all policies of a namespace, or of the cluster.
    """
    found = [
        each
        for each in policies
        if any(_matches(selector, template) for selector in each.spec.resource_selectors)
    ]
    if not found:
        return None
    first, *others = sorted(found, key=lambda each: (-each.spec.priority, each.metadata.name))
    equals = (x.metadata.name for x in others if x.spec.priority == first.spec.priority)
    return SelectedPolicy(first, tuple(equals))


def _matches(selector: ResourceSelector, template: Fields) -> bool:
    """True if every set field of a selector matches."""
    metadata = template["metadata"]
    return (
        selector.api_version in ("", template.get("apiVersion"))
        and selector.kind in ("", template.get("kind"))
        and (not selector.names or metadata["name"] in selector.names)
        and selector.match_labels.items() <= (metadata.get("labels") or {}).items()
    )
