"""Validation of pods: the rules of the API server for fields that scheduling reads."""

from typing import Final

from stretto.api.checks import rules
from stretto.api.types import effective_requests
from stretto.api.types.pod import (
    Affinity,
    Container,
    ContainerPort,
    NodeAffinity,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    Toleration,
    TopologySpreadConstraint,
)
from stretto.api.wire import names, quantity, selectors
from stretto.api.wire.meta import NodeSelector
from stretto.api.wire.resources import HUGE_PAGES
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

RESTARTS: Final = ("", "Always", "OnFailure", "Never")
"""Restart policies; absent means ``Always``."""

_NATIVE: Final = ("cpu", "memory", "ephemeral-storage")
"""Resources besides hugepages that a container may request without a domain."""
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_INCLUSION: Final = (None, "Honor", "Ignore")
_MAX_PORT: Final = 65535


def pod(item: Pod, where: str) -> None:
    """Validate a pod; ``where`` ends in ``: `` or is empty."""
    rules.metadata(item.metadata, where, namespaced=True)
    spec = item.spec
    path = f"{where}spec"
    if not spec.containers:
        raise InputError(f"{path}.containers", None, "at least one container")
    for index, each in enumerate(spec.containers):
        _container(each, spec, f"{path}.containers[{index}]")
    for index, each in enumerate(spec.init_containers):
        _container(each, spec, f"{path}.initContainers[{index}]")
    both = (*spec.containers, *spec.init_containers)
    rules.unique((each.name for each in both), f"{path}.containers", "rename one of the two")
    _amounts(spec, path)
    _host_ports(spec, path)
    _rank(spec, path)
    _places(spec, path)
    _gates(spec, path)
    volumes = [each.name for each in spec.volumes]
    for index, name in enumerate(volumes):
        names.dns_label(name, f"{path}.volumes[{index}].name")
    rules.unique(volumes, f"{path}.volumes", "rename one of the two")


def _container(container: Container, spec: PodSpec, where: str) -> None:
    """Check name, amounts and ports of one container."""
    names.dns_label(container.name, f"{where}.name")
    rules.requirements(container.resources, f"{where}.resources")
    _resource_names(container, f"{where}.resources")
    for index, port in enumerate(container.ports):
        _port(port, f"{where}.ports[{index}]", on_host=spec.host_network)


def _resource_names(container: Container, where: str) -> None:
    """Check that resources without a domain are those of Kubernetes."""
    parts = (("requests", container.resources.requests), ("limits", container.resources.limits))
    for part, amounts in parts:
        for name in amounts:
            if "/" not in name and name not in _NATIVE and not name.startswith(HUGE_PAGES):
                expected = f"{', '.join(_NATIVE)}, {HUGE_PAGES}SIZE, or DOMAIN/NAME"
                hint = "an extended resource has a domain, such as nvidia.com/gpu"
                raise InputError(f"{where}.{part}", name, expected, hint)


def _port(port: ContainerPort, where: str, *, on_host: bool) -> None:
    rules.within(port.container_port, 1, _MAX_PORT, f"{where}.containerPort")
    rules.within(port.host_port, 0, _MAX_PORT, f"{where}.hostPort", "omit it for none")
    rules.one_of(port.protocol, _PROTOCOLS, f"{where}.protocol")
    if on_host and port.host_port not in (0, port.container_port):
        expected = f"{port.container_port}, the containerPort"
        hint = "with hostNetwork the two ports are equal"
        raise InputError(f"{where}.hostPort", port.host_port, expected, hint)


def _amounts(spec: PodSpec, path: str) -> None:
    """Check overhead, pod-level amounts, and their sum."""
    rules.resources(spec.overhead, f"{path}.overhead")
    if spec.resources is not None:
        rules.requirements(spec.resources, f"{path}.resources")
        bare = PodSpec(containers=spec.containers, init_containers=spec.init_containers)
        inside = effective_requests.requests(bare, path)
        for name, amount in quantity.amounts(spec.resources.requests, path).items():
            if effective_requests.is_pod_level(name) and amount < inside.get(name, 0):
                expected = f"at least {quantity.format_amount(name, inside[name])}"
                where = f"{path}.resources.requests.{name}"
                hint = "the containers together request that much"
                raise InputError(where, spec.resources.requests[name], expected, hint)
    effective_requests.requests(spec, path)


def _host_ports(spec: PodSpec, path: str) -> None:
    """Check that no two containers use the same host port."""
    taken = [
        (port.host_ip or effective_requests.ANY_ADDRESS, port.protocol, port.host_port)
        for container in spec.containers
        for port in container.ports
        if port.host_port
    ]
    rules.unique(taken, f"{path}.containers: hostPort", "two containers cannot share a host port")


def _rank(spec: PodSpec, path: str) -> None:
    """Check priority, preemption policy, class, node name and restart policy."""
    rules.one_of(spec.restart_policy, RESTARTS, f"{path}.restartPolicy")
    rules.within(spec.priority, LOWEST_PRIORITY, HIGHEST_PRIORITY, f"{path}.priority")
    rules.one_of(spec.preemption_policy, PREEMPTION, f"{path}.preemptionPolicy")
    if spec.priority_class_name:
        names.dns_subdomain(spec.priority_class_name, f"{path}.priorityClassName")
    if spec.node_name:
        names.dns_subdomain(spec.node_name, f"{path}.nodeName")


def _gates(spec: PodSpec, path: str) -> None:
    """Check scheduling gates; a gated pod has no node."""
    gates = [gate.name for gate in spec.scheduling_gates]
    for index, name in enumerate(gates):
        names.label_key(name, f"{path}.schedulingGates[{index}].name")
    rules.unique(gates, f"{path}.schedulingGates", "remove one of the two")
    if gates and spec.node_name:
        expected = "no node while the pod is gated"
        hint = "remove spec.nodeName or spec.schedulingGates"
        raise InputError(f"{path}.nodeName", spec.node_name, expected, hint)


# ---------------------------------------------------------------- placement


def _places(spec: PodSpec, path: str) -> None:
    """Check all rules that restrict the nodes."""
    rules.labels(spec.node_selector, f"{path}.nodeSelector")
    if spec.affinity is not None:
        affinity(spec.affinity, f"{path}.affinity")
    for index, each in enumerate(spec.tolerations):
        toleration(each, f"{path}.tolerations[{index}]")
    spreads = spec.topology_spread_constraints
    for index, constraint in enumerate(spreads):
        _spread(constraint, f"{path}.topologySpreadConstraints[{index}]")
    rules.unique(
        ((each.topology_key, each.when_unsatisfiable) for each in spreads),
        f"{path}.topologySpreadConstraints",
        "merge the two constraints on that key",
    )


def affinity(item: Affinity, path: str) -> None:
    """Check all affinities."""
    if item.node_affinity is not None:
        _node_affinity(item.node_affinity, f"{path}.nodeAffinity")
    if item.pod_affinity is not None:
        _pod_affinity(item.pod_affinity, f"{path}.podAffinity")
    if item.pod_anti_affinity is not None:
        _pod_affinity(item.pod_anti_affinity, f"{path}.podAntiAffinity")


def _node_affinity(item: NodeAffinity, path: str) -> None:
    if item.required is not None:
        node_selector(item.required, f"{path}.requiredDuringSchedulingIgnoredDuringExecution")
    for index, each in enumerate(item.preferred):
        where = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        rules.within(each.weight, 1, 100, f"{where}.weight")
        preference = each.preference
        selectors.node_term(
            preference.match_expressions, preference.match_fields, f"{where}.preference"
        )


def node_selector(item: NodeSelector, path: str) -> None:
    """Check a node selector, which needs at least one term."""
    if not item.node_selector_terms:
        hint = "no node matches a selector without terms: remove the selector"
        raise InputError(f"{path}.nodeSelectorTerms", None, "at least one term", hint)
    selectors.node_terms(item, path)


def _pod_affinity(item: PodAffinity, path: str) -> None:
    for index, term in enumerate(item.required):
        _pod_term(term, f"{path}.requiredDuringSchedulingIgnoredDuringExecution[{index}]")
    for index, each in enumerate(item.preferred):
        where = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        rules.within(each.weight, 1, 100, f"{where}.weight")
        _pod_term(each.pod_affinity_term, f"{where}.podAffinityTerm")


def _pod_term(term: PodAffinityTerm, path: str) -> None:
    names.label_key(term.topology_key, f"{path}.topologyKey")
    rules.selector(term.label_selector, f"{path}.labelSelector")
    rules.selector(term.namespace_selector, f"{path}.namespaceSelector")
    for index, name in enumerate(term.namespaces):
        names.dns_label(name, f"{path}.namespaces[{index}]")
    both = set(term.match_label_keys) & set(term.mismatch_label_keys)
    if both:
        expected = "keys that are not in matchLabelKeys"
        raise InputError(f"{path}.mismatchLabelKeys", min(both), expected, "remove one of the two")


def toleration(item: Toleration, path: str) -> None:
    """Check one toleration."""
    if item.key:
        names.label_key(item.key, f"{path}.key")
    elif item.operator != "Exists":
        hint = "without a key the toleration matches every taint: write operator: Exists"
        raise InputError(f"{path}.operator", item.operator or None, "Exists", hint)
    rules.one_of(item.operator, ("", "Equal", "Exists"), f"{path}.operator")
    if item.operator == "Exists" and item.value:
        hint = "Exists has no value: use Equal, or remove the value"
        raise InputError(f"{path}.value", item.value, "no value", hint)
    rules.one_of(item.effect, ("", *EFFECTS), f"{path}.effect")
    if item.toleration_seconds is not None and item.effect != "NoExecute":
        hint = "only the effect NoExecute evicts pods after a delay"
        raise InputError(f"{path}.effect", item.effect or None, "NoExecute", hint)


def _spread(item: TopologySpreadConstraint, path: str) -> None:
    """Check one spreading constraint."""
    rules.within(item.max_skew, 1, rules.INT32_MAX, f"{path}.maxSkew", "1 is the strictest")
    names.label_key(item.topology_key, f"{path}.topologyKey")
    choices = ("DoNotSchedule", "ScheduleAnyway")
    rules.one_of(item.when_unsatisfiable, choices, f"{path}.whenUnsatisfiable")
    rules.within(item.min_domains, 1, rules.INT32_MAX, f"{path}.minDomains")
    if item.min_domains is not None and item.when_unsatisfiable != "DoNotSchedule":
        hint = "ScheduleAnyway cannot require a number of domains: remove minDomains"
        expected = "none with ScheduleAnyway"
        raise InputError(f"{path}.minDomains", item.min_domains, expected, hint)
    rules.one_of(item.node_affinity_policy, _INCLUSION, f"{path}.nodeAffinityPolicy")
    rules.one_of(item.node_taints_policy, _INCLUSION, f"{path}.nodeTaintsPolicy")
    rules.selector(item.label_selector, f"{path}.labelSelector")
    if item.match_label_keys and item.label_selector is None:
        hint = "the keys extend a selector: write one, or remove matchLabelKeys"
        raise InputError(f"{path}.labelSelector", None, "a selector", hint)
