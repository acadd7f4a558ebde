"""The scheduler's rules of pods; those of the API server are in ``checks.kinds.pods``."""

from typing import Final

from stretto.api.checks import rules
from stretto.api.types import effective_requests
from stretto.api.types.pod import (
    Affinity,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
)
from stretto.api.wire import quantity, selectors
from stretto.api.wire.meta import NodeSelector
from stretto.base.errors import InputError

HIGHEST_USER_PRIORITY: Final = 1_000_000_000
"""Maximum priority of users' classes; larger values are reserved for classes of Kubernetes."""

HIGHEST_PRIORITY: Final = 2 * HIGHEST_USER_PRIORITY + 1000
"""Value of ``system-node-critical``, the maximum."""

LOWEST_PRIORITY: Final = -(2**31)
"""Minimum of a 32-bit integer."""

SYSTEM_CLASSES: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""Values of the built-in classes of every cluster."""

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
"""Effects of a taint."""

PREEMPTION: Final = (None, "Never", "PreemptLowerPriority")
"""Preemption policies; absent allows preemption."""

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def pod(item: Pod, where: str) -> None:
    """Check a pod by the scheduler's rules, in addition to those of the API server.

    Sums of amounts fit their units, priorities are in range, node selectors compile, and label keys
    do not contradict each other. ``where`` ends in ``: `` or is empty.
    """
    rules.metadata(item.metadata, where, namespaced=True)
    spec, path = item.spec, f"{where}spec"
    _amounts(spec, path)
    rules.within(spec.priority, LOWEST_PRIORITY, HIGHEST_PRIORITY, f"{path}.priority")
    if spec.affinity is not None:
        _affinity(spec.affinity, f"{path}.affinity")
    for index, each in enumerate(spec.topology_spread_constraints):
        if each.match_label_keys and each.label_selector is None:
            hint = "the keys extend a selector: write one, or remove matchLabelKeys"
            at = f"{path}.topologySpreadConstraints[{index}].labelSelector"
            raise InputError(at, None, "a selector", hint)


def _amounts(spec: PodSpec, path: str) -> None:
    """Check amounts, also those of stored objects: pod-level, and the sum of the containers."""
    rules.resources(spec.overhead, f"{path}.overhead")
    for word, containers in (
        ("containers", spec.containers),
        ("initContainers", spec.init_containers),
    ):
        for index, each in enumerate(containers):
            rules.resources(each.resources.requests, f"{path}.{word}[{index}].resources.requests")
    if spec.resources is not None:
        bare = PodSpec(containers=spec.containers, init_containers=spec.init_containers)
        inside = effective_requests.requests(bare, path)
        for name, amount in quantity.amounts(spec.resources.requests, path).items():
            if effective_requests.is_pod_level(name) and amount < inside.get(name, 0):
                expected = f"at least {quantity.format_amount(name, inside[name])}"
                where = f"{path}.resources.requests.{name}"
                hint = "the containers together request that much"
                raise InputError(where, spec.resources.requests[name], expected, hint)
    effective_requests.requests(spec, path)


def _affinity(item: Affinity, path: str) -> None:
    """Check the node selectors and the label keys of all affinities."""
    nodes = item.node_affinity
    if nodes is not None and nodes.required is not None:
        selectors.node_terms(nodes.required, f"{path}.nodeAffinity.{_REQUIRED}")
    for index, each in enumerate(nodes.preferred if nodes is not None else ()):
        at, preference = f"{path}.nodeAffinity.{_PREFERRED}[{index}]", each.preference
        rule, field = preference.match_expressions, preference.match_fields
        selectors.node_term(rule, field, f"{at}.preference")
    _pod_affinity(item.pod_affinity, f"{path}.podAffinity")
    _pod_affinity(item.pod_anti_affinity, f"{path}.podAntiAffinity")


def _pod_affinity(item: PodAffinity | None, path: str) -> None:
    if item is None:
        return
    for index, term in enumerate(item.required):
        _label_keys(term, f"{path}.{_REQUIRED}[{index}]")
    for index, each in enumerate(item.preferred):
        _label_keys(each.pod_affinity_term, f"{path}.{_PREFERRED}[{index}].podAffinityTerm")


def _label_keys(term: PodAffinityTerm, path: str) -> None:
    both = set(term.match_label_keys) & set(term.mismatch_label_keys)
    if both:
        expected = "keys that are not in matchLabelKeys"
        raise InputError(f"{path}.mismatchLabelKeys", min(both), expected, "remove one of the two")


def node_selector(item: NodeSelector, path: str) -> None:
    """Check a node selector, which needs at least one term."""
    if not item.node_selector_terms:
        hint = "no node matches a selector without terms: remove the selector"
        raise InputError(f"{path}.nodeSelectorTerms", None, "at least one term", hint)
    selectors.node_terms(item, path)
