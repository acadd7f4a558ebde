"""Validation of objects, one function per kind: values out of range and contradictions.

The codec has already refused malformed JSON. Each error contains the path, the value, what is
expected and a remedy.
"""

from typing import Final

from stretto.api.checks import pod, rules
from stretto.api.checks.pod import HIGHEST_USER_PRIORITY, LOWEST_PRIORITY, SYSTEM_CLASSES
from stretto.api.types.capacity.overcommit import NodeOvercommitConfig
from stretto.api.types.core import Node, PodDisruptionBudget, PriorityClass, Taint
from stretto.api.types.godel import PodGroup, PodGroupAffinity, Queue
from stretto.api.wire import names, quantity
from stretto.base.errors import InputError

_SYSTEM: Final = "system-"
"""Prefix of the names of priority classes of Kubernetes."""

_SORT_RULES: Final = {
    "resource": ("GPU", "CPU", "Memory"),
    "dimension": ("Capacity", "Available"),
    "order": ("Ascending", "Descending"),
}


def check_node(node: Node, where: str) -> None:
    """Validate a Node: metadata, taints and amounts."""
    rules.metadata(node.metadata, where, namespaced=False)
    for index, taint in enumerate(node.spec.taints):
        _taint(taint, f"{where}spec.taints[{index}]")
    rules.unique(
        ((taint.key, taint.effect) for taint in node.spec.taints),
        f"{where}spec.taints",
        "a key has at most one taint per effect: remove one of the two",
    )
    rules.resources(node.status.capacity, f"{where}status.capacity")
    rules.resources(node.status.allocatable, f"{where}status.allocatable")


def _taint(taint: Taint, path: str) -> None:
    names.label_key(taint.key, f"{path}.key")
    names.label_value(taint.value, f"{path}.value")
    rules.one_of(taint.effect, pod.EFFECTS, f"{path}.effect")


def check_pod_group(group: PodGroup, where: str) -> None:
    """Validate a PodGroup of Gödel: size, timeout, priority class and affinity."""
    rules.metadata(group.metadata, where, namespaced=True)
    spec = group.spec
    hint = "a gang has at least one pod; 1 schedules each pod on its own"
    rules.within(spec.min_member, 1, rules.INT32_MAX, f"{where}spec.minMember", hint)
    path = f"{where}spec.scheduleTimeoutSeconds"
    hint = "omit it for 300 seconds"
    rules.within(spec.schedule_timeout_seconds, 1, rules.INT32_MAX, path, hint)
    if spec.priority_class_name:
        names.dns_subdomain(spec.priority_class_name, f"{where}spec.priorityClassName")
    if spec.affinity is not None and spec.affinity.pod_group_affinity is not None:
        path = f"{where}spec.affinity.podGroupAffinity"
        _group_affinity(spec.affinity.pod_group_affinity, path)


def _group_affinity(affinity: PodGroupAffinity, path: str) -> None:
    for part, terms in (("required", affinity.required), ("preferred", affinity.preferred)):
        for index, term in enumerate(terms):
            names.label_key(term.topology_key, f"{path}.{part}[{index}].topologyKey")
        keys = (term.topology_key for term in terms)
        rules.unique(keys, f"{path}.{part}", "remove one of the two")
    for index, rule in enumerate(affinity.sort_rules):
        for name, choices in _SORT_RULES.items():
            rules.one_of(getattr(rule, name), choices, f"{path}.sortRules[{index}].{name}")
    selector = affinity.node_selector
    if selector is not None:
        pod.node_selector(selector, f"{path}.nodeSelector")
        if any(term.match_fields for term in selector.node_selector_terms):
            hint = "a group spans many nodes: use matchExpressions"
            raise InputError(f"{path}.nodeSelector", "matchFields", "labels only", hint)


def check_queue(queue: Queue, where: str) -> None:
    """Validate a Queue: parent, weights, and a guarantee within the limit."""
    rules.metadata(queue.metadata, where, namespaced=False)
    spec, path = queue.spec, f"{where}spec"
    if spec.parent:
        names.dns_subdomain(spec.parent, f"{path}.parent")
    if spec.parent and spec.parent == queue.metadata.name:
        hint = "set another queue, or none for a root queue"
        raise InputError(f"{path}.parent", spec.parent, "another queue", hint)
    hint = "a queue without weight starves: delete it instead"
    rules.within(spec.weight, 1, rules.INT32_MAX, f"{path}.weight", hint)
    for name, share in spec.resource_weights.items():
        rules.within(share, 1, rules.INT32_MAX, f"{path}.resourceWeights.{name}")
    hint = "omit it for no limit; 0 closes the queue"
    rules.within(spec.max_running_units, 0, rules.INT32_MAX, f"{path}.maxRunningUnits", hint)
    guarantee = rules.resources(spec.guarantee, f"{path}.guarantee")
    limit = rules.resources(spec.limit, f"{path}.limit")
    for name, amount in guarantee.items():
        if name in limit and amount > limit[name]:
            expected = f"at most the limit, {quantity.format_amount(name, limit[name])}"
            where = f"{path}.guarantee.{name}"
            raise InputError(where, spec.guarantee[name], expected, "raise the limit")


def check_budget(budget: PodDisruptionBudget, where: str) -> None:
    """Validate a PodDisruptionBudget: one of two bounds, a selector and a policy."""
    rules.metadata(budget.metadata, where, namespaced=True)
    spec, path = budget.spec, f"{where}spec"
    if spec.min_available is not None and spec.max_unavailable is not None:
        expected, hint = "none with minAvailable", "keep one of the two"
        raise InputError(f"{path}.maxUnavailable", spec.max_unavailable, expected, hint)
    _share(spec.min_available, f"{path}.minAvailable")
    _share(spec.max_unavailable, f"{path}.maxUnavailable")
    rules.selector(spec.selector, f"{path}.selector")
    choices = (None, "IfHealthyBudget", "AlwaysAllow")
    rules.one_of(spec.unhealthy_pod_eviction_policy, choices, f"{path}.unhealthyPodEvictionPolicy")


def _share(share: int | str | None, path: str) -> None:
    """Check a number of pods, or a percentage of them."""
    if isinstance(share, int):
        rules.within(share, 0, rules.INT32_MAX, path)
    elif share is not None:
        digits = share.removesuffix("%")
        plain = digits.isascii() and digits.isdigit() and len(digits) <= 3
        if digits == share or not plain or int(digits) > 100:
            raise InputError(path, share, "a number of pods, or 0% to 100%")


def check_priority_class(item: PriorityClass, where: str) -> None:
    """Validate a PriorityClass: its value within the range of its name, and its policy."""
    rules.metadata(item.metadata, where, namespaced=False)
    name = item.metadata.name
    if name in SYSTEM_CLASSES:
        rules.within(item.value, SYSTEM_CLASSES[name], SYSTEM_CLASSES[name], f"{where}value")
    elif name.startswith(_SYSTEM):
        expected = f"a name without the prefix {_SYSTEM}"
        hint = "the prefix is reserved for the classes of Kubernetes"
        raise InputError(f"{where}metadata.name", name, expected, hint)
    else:
        hint = "larger values are reserved for classes of Kubernetes"
        rules.within(item.value, LOWEST_PRIORITY, HIGHEST_USER_PRIORITY, f"{where}value", hint)
    rules.one_of(item.preemption_policy, pod.PREEMPTION, f"{where}preemptionPolicy")


def check_overcommit_config(config: NodeOvercommitConfig, where: str) -> None:
    """Validate a NodeOvercommitConfig: metadata and pool; Katalyst reads any text as a ratio."""
    rules.metadata(config.metadata, where, namespaced=False)
    path = f"{where}spec.nodeOvercommitSelectorVal"
    names.label_value(config.spec.node_overcommit_selector_val, path)
