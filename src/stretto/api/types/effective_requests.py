"""Effective requests and host ports of a pod, summed as in Kubernetes.

Requests of containers are added. Init containers run one after another, together with the sidecars
started before them, so their largest sum is used. Pod-level requests replace the result, and the
overhead is added. Sums are in thousandths and rounded once at the end.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from stretto.api.types.pod import Container, ContainerStatus, Pod, PodSpec
from stretto.api.wire import quantity
from stretto.api.wire.quantity import CPU, INT64_MAX
from stretto.api.wire.resources import ResourceList
from stretto.base.amounts import add_amounts
from stretto.base.errors import InputError

Amounts = dict[str, int]
RequestsOf = Callable[[Container, str], Mapping[str, int]]
"""Maps (container, its path) to its amounts in thousandths."""

ANY_ADDRESS: Final = "0.0.0.0"
"""The host address for an empty one; it conflicts with every other."""

_POD_LEVEL: Final = ("cpu", "memory")
"""Resources of pod-level requests, besides hugepages (recognized by their prefix)."""


class HostPort(msgspec.Struct, frozen=True, gc=False, order=True):
    """A host port of a pod."""

    #: Address of the node; ``ANY_ADDRESS`` for all.
    ip: str
    #: ``TCP``, ``UDP`` or ``SCTP``.
    protocol: str
    #: The port.
    port: int

    def conflicts(self, other: "HostPort") -> bool:
        """Return whether two pods with these ports cannot share a node."""
        if (self.port, self.protocol) != (other.port, other.protocol):
            return False
        return self.ip == other.ip or ANY_ADDRESS in (self.ip, other.ip)


def requests(spec: PodSpec, where: str = "spec") -> Amounts:
    """Effective requests of a pod: CPU in thousandths, all other resources in units."""
    return _rounded(_total(spec, {}, where), where)


def running_requests(pod: Pod, where: str = "pod") -> Amounts:
    """Effective amounts of a pod on a node, also during a resize.

    During a resize the amount of each resource is the largest of spec, allocated amounts and actual
    amounts. If the resize is infeasible, the spec is ignored.
    """
    total = _total(pod.spec, in_force(pod, where), f"{where}.spec")
    return _rounded(total, where)


def in_force(pod: Pod, where: str = "pod") -> dict[str, Amounts]:
    """Amounts that replace the spec of a pod on a node, in thousandths.

    The map has an entry by container name for each container whose status contains amounts. The
    entry with the empty name is for the whole pod.
    """
    reported = {each.name: each for each in pod.status.container_statuses}
    reported.update({each.name: each for each in pod.status.init_container_statuses})
    return _Resizing(pod, reported).amounts(where)


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Host ports of a pod, sorted: those of its containers and sidecars."""
    running = (*spec.containers, *(each for each in spec.init_containers if each.sidecar))
    return tuple(
        sorted(
            {
                HostPort(port.host_ip or ANY_ADDRESS, port.protocol or "TCP", taken)
                for container in running
                for port in container.ports
                if (taken := port.host_port or (port.container_port if spec.host_network else 0))
            }
        )
    )


# ---------------------------------------------------------------- sums


def summed(
    spec: PodSpec, requests_of: RequestsOf, whole: Mapping[str, int], where: str = "spec"
) -> Amounts:
    """Effective amounts of a pod, in thousandths and without a limit.

    Args:
        spec: the pod.
        requests_of: amounts of one container, given its path.
        whole: amounts that replace the sum of the containers, by resource.
        where: path of the spec.
    """
    total: Amounts = {}
    for index, each in enumerate(spec.containers):
        add_amounts(total, requests_of(each, f"{where}.containers[{index}]").items())
    sidecars: Amounts = {}
    peak: Amounts = {}
    for index, each in enumerate(spec.init_containers):
        mine = requests_of(each, f"{where}.initContainers[{index}]")
        if each.sidecar:
            add_amounts(total, mine.items())
            add_amounts(sidecars, mine.items())
            _raise_to(peak, sidecars)
        else:
            moment = dict(sidecars)
            add_amounts(moment, mine.items())
            _raise_to(peak, moment)
    _raise_to(total, peak)
    total.update(whole)
    add_amounts(total, thousandths(spec.overhead, f"{where}.overhead").items())
    return total


def _total(spec: PodSpec, standing_in: Mapping[str, Amounts], where: str) -> Amounts:
    """All amounts in thousandths; ``standing_in`` replaces requests of containers by name.

    The entry with the empty name replaces the pod-level requests.
    """
    whole: Mapping[str, int] = {}
    if spec.resources is not None:
        stated = standing_in.get("")
        if stated is None:
            stated = thousandths(spec.resources.requests, f"{where}.resources.requests")
        whole = {name: each for name, each in stated.items() if is_pod_level(name)}
    return summed(spec, lambda each, path: requested_by(each, standing_in, path), whole, where)


def requested_by(
    container: Container, standing_in: Mapping[str, Amounts], where: str = "container"
) -> Amounts:
    """Amounts of one container, or their replacement, in thousandths."""
    found = standing_in.get(container.name) if container.name else None
    if found is not None:
        return found
    return thousandths(container.resources.requests, f"{where}.resources.requests")


def is_pod_level(resource: str) -> bool:
    """Return whether pod-level requests may contain this resource."""
    return resource in _POD_LEVEL or resource.startswith("hugepages-")


def thousandths(resources: ResourceList, where: str) -> Amounts:
    """A resource list in thousandths, without a limit; sums are rounded and checked at the end."""
    return {name: quantity.thousandths(each, f"{where}.{name}") for name, each in resources.items()}


def _raise_to(total: Amounts, least: Mapping[str, int]) -> None:
    for name, amount in least.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def _rounded(total: Amounts, where: str) -> Amounts:
    """Thousandths in units of the engine: CPU unchanged, other resources in units, rounded up."""
    amounts = {
        name: amount if name == CPU else -(-amount // 1000) for name, amount in total.items()
    }
    for name, amount in amounts.items():
        if abs(amount) > INT64_MAX:
            expected = f"a sum of at most {INT64_MAX}"
            raise InputError(f"{where}: {name} of all containers", amount, expected)
    return amounts


# ---------------------------------------------------------------- resizing


class _Resizing:
    """Effective amounts of a pod during an in-place resize."""

    def __init__(self, pod: Pod, reported: Mapping[str, ContainerStatus]) -> None:
        self._pod = pod
        self._reported = reported
        condition = pod.status.condition("PodResizePending")
        self._infeasible = condition is not None and condition.reason == "Infeasible"

    def amounts(self, where: str) -> dict[str, Amounts]:
        """Amounts by container name; the empty name is for the whole pod."""
        spec = self._pod.spec
        sidecars = (each for each in spec.init_containers if each.sidecar)
        found: dict[str, Amounts] = {}
        for container in (*spec.containers, *sidecars):
            status = self._reported.get(container.name)
            if status is not None and status.resources is not None:
                found[container.name] = self._largest(
                    container.resources.requests,
                    (status.resources.requests, status.allocated_resources),
                    f"{where}.{container.name}",
                )
        in_force = self._pod.status.resources
        if spec.resources is not None and in_force is not None:
            reported = (in_force.requests, self._pod.status.allocated_resources)
            found[""] = self._largest(spec.resources.requests, reported, f"{where}.resources")
        return found

    def _largest(
        self, wanted: ResourceList, reported: Iterable[ResourceList], where: str
    ) -> Amounts:
        """The larger of desired and reported amount, by resource."""
        largest = {} if self._infeasible else thousandths(wanted, where)
        for each in reported:
            _raise_to(largest, thousandths(each, where))
        return largest
