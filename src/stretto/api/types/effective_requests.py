"""What a pod really takes of a node: requests as Kubernetes adds them up, and host ports.

Containers run together, so they add up; init containers run one after the other beside the
sidecars started before them, so the largest moment counts; pod-level requests stand in for all of
that; overhead comes on top. Sums are made in thousandths and rounded once at the end.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from stretto.api.types.pod import Container, ContainerStatus, Pod, PodSpec
from stretto.api.wire import quantity
from stretto.api.wire.quantity import CPU, INT64_MAX
from stretto.api.wire.resources import ResourceList
from stretto.base.errors import InputError

Amounts = dict[str, int]
Asked = Callable[[Container, str], Mapping[str, int]]
"""(container, its path) to what it counts with, in thousandths."""

ANY_ADDRESS: Final = "0.0.0.0"
"""The host address that an empty one means; it conflicts with every other."""

_POD_LEVEL: Final = ("cpu", "memory")
"""What a pod may ask for as a whole, hugepages (by their prefix) aside."""


class HostPort(msgspec.Struct, frozen=True, gc=False, order=True):
    """A port of the node that a pod takes."""

    #: Address of the node; ``ANY_ADDRESS`` for all.
    ip: str
    #: ``TCP``, ``UDP`` or ``SCTP``.
    protocol: str
    #: The port.
    port: int

    def conflicts(self, other: "HostPort") -> bool:
        """Whether two pods with these ports cannot share a node."""
        if (self.port, self.protocol) != (other.port, other.protocol):
            return False
        return self.ip == other.ip or ANY_ADDRESS in (self.ip, other.ip)


def requests(spec: PodSpec, where: str = "spec") -> Amounts:
    """What a pod asks for: resource to amount, cpu in thousandths and all else in units."""
    return _rounded(_total(spec, {}, where), where)


def running_requests(pod: Pod, where: str = "pod") -> Amounts:
    """What a pod on a node takes, also while it is being resized.

    Then the larger of what the spec wants, what is set aside and what is in force counts; a
    resize that the node cannot do leaves the spec out.
    """
    total = _total(pod.spec, in_force(pod, where), f"{where}.spec")
    return _rounded(total, where)


def in_force(pod: Pod, where: str = "pod") -> dict[str, Amounts]:
    """What counts instead of the spec for a pod on a node, in thousandths.

    By container name where a container's status says what it has, and for the pod as a whole under
    the empty name.
    """
    told = {each.name: each for each in pod.status.container_statuses}
    told.update({each.name: each for each in pod.status.init_container_statuses})
    return _Resizing(pod, told).amounts(where)


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """The node's ports that a pod takes, sorted: of its containers and its sidecars."""
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


def summed(spec: PodSpec, asked: Asked, whole: Mapping[str, int], where: str = "spec") -> Amounts:
    """What a pod takes, in thousandths and without bound.

    Args:
        spec: the pod.
        asked: what one container counts with, by its path.
        whole: what stands in for the containers' sum, by resource.
        where: the spec's path.
    """
    total: Amounts = {}
    for index, each in enumerate(spec.containers):
        _add(total, asked(each, f"{where}.containers[{index}]"))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for index, each in enumerate(spec.init_containers):
        mine = asked(each, f"{where}.initContainers[{index}]")
        if each.sidecar:
            _add(total, mine)
            _add(sidecars, mine)
            _raise_to(peak, sidecars)
        else:
            moment = dict(sidecars)
            _add(moment, mine)
            _raise_to(peak, moment)
    _raise_to(total, peak)
    total.update(whole)
    _add(total, thousandths(spec.overhead, f"{where}.overhead"))
    return total


def _total(spec: PodSpec, standing_in: Mapping[str, Amounts], where: str) -> Amounts:
    """Everything in thousandths; ``standing_in`` replaces what containers (by name) ask for.

    The entry under the empty name replaces what the pod asks for as a whole.
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
    """What one container asks for, or what stands in for it, in thousandths."""
    found = standing_in.get(container.name) if container.name else None
    if found is not None:
        return found
    return thousandths(container.resources.requests, f"{where}.resources.requests")


def is_pod_level(resource: str) -> bool:
    """Whether a pod may ask for this resource as a whole."""
    return resource in _POD_LEVEL or resource.startswith("hugepages-")


def thousandths(resources: ResourceList, where: str) -> Amounts:
    """A resource list in thousandths, without bound: sums are rounded and bounded at the end."""
    return {name: quantity.thousandths(each, f"{where}.{name}") for name, each in resources.items()}


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: Amounts, least: Mapping[str, int]) -> None:
    for name, amount in least.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def _rounded(total: Amounts, where: str) -> Amounts:
    """Thousandths as the engine counts: cpu as it is, the rest in units, rounded up."""
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
    """The amounts that count for a pod whose resources are being changed in place."""

    def __init__(self, pod: Pod, told: Mapping[str, ContainerStatus]) -> None:
        self._pod = pod
        self._told = told
        condition = pod.status.condition("PodResizePending")
        self._infeasible = condition is not None and condition.reason == "Infeasible"

    def amounts(self, where: str) -> dict[str, Amounts]:
        """By container name, and for the whole pod under the empty name."""
        spec = self._pod.spec
        sidecars = (each for each in spec.init_containers if each.sidecar)
        found: dict[str, Amounts] = {}
        for container in (*spec.containers, *sidecars):
            status = self._told.get(container.name)
            if status is not None and status.resources is not None:
                found[container.name] = self._largest(
                    container.resources.requests,
                    (status.resources.requests, status.allocated_resources),
                    f"{where}.{container.name}",
                )
        in_force = self._pod.status.resources
        if spec.resources is not None and in_force is not None:
            told = (in_force.requests, self._pod.status.allocated_resources)
            found[""] = self._largest(spec.resources.requests, told, f"{where}.resources")
        return found

    def _largest(self, wanted: ResourceList, told: Iterable[ResourceList], where: str) -> Amounts:
        """The larger of wanted and told, resource by resource."""
        largest = {} if self._infeasible else thousandths(wanted, where)
        for each in told:
            _raise_to(largest, thousandths(each, where))
        return largest
