"""Effective requests of a pod equal the sum of Kubernetes."""

import msgspec
import pytest

from stretto.api.codec import decode_as
from stretto.api.types.effective_requests import HostPort, host_ports, requests, running_requests
from stretto.api.types.pod import Container, ContainerPort, Pod, PodSpec
from stretto.api.wire.resources import ResourceRequirements
from stretto.base.errors import InputError


def container_with(name: str = "", *, sidecar: bool = False, **amounts: str) -> Container:
    resources = ResourceRequirements(requests=dict(amounts))
    return Container(name=name, resources=resources, restart_policy="Always" if sidecar else None)


def listens(*ports: ContainerPort, sidecar: bool = False) -> Container:
    return Container(ports=ports, restart_policy="Always" if sidecar else None)


def resized(status: str) -> Pod:
    spec = '{"containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"1Ki"}}}]}'
    return decode_as(Pod, f'{{"metadata":{{}},"spec":{spec},"status":{status}}}'.encode())


def test_containers_add_up() -> None:
    spec = PodSpec(containers=(container_with(cpu="500m", memory="1Ki"), container_with(cpu="1")))
    assert requests(spec) == {"cpu": 1500, "memory": 1024}


def test_a_pod_without_requests_takes_nothing() -> None:
    assert requests(PodSpec(containers=(Container(),))) == {}


def test_the_largest_init_container_counts_when_it_exceeds_the_sum() -> None:
    spec = PodSpec(
        containers=(container_with(cpu="1", memory="1Ki"),),
        init_containers=(container_with(cpu="3"), container_with(cpu="2")),
    )
    assert requests(spec) == {"cpu": 3000, "memory": 1024}


def test_a_sidecar_adds_to_containers_and_to_later_init_containers_only() -> None:
    inits = (
        container_with(cpu="3"),
        container_with(cpu="1", sidecar=True),
        container_with(cpu="2500m"),
    )
    assert requests(PodSpec(containers=(container_with(cpu="2"),), init_containers=inits)) == {
        "cpu": 3500
    }


def test_pod_level_requests_stand_in_for_the_containers() -> None:
    whole = ResourceRequirements(requests={"cpu": "4", "nvidia.com/gpu": "9"})
    spec = PodSpec(containers=(container_with(cpu="1", memory="1Ki"),), resources=whole)
    assert requests(spec) == {"cpu": 4000, "memory": 1024}


def test_overhead_comes_on_top_of_all() -> None:
    whole = ResourceRequirements(requests={"cpu": "4"})
    spec = PodSpec(resources=whole, overhead={"cpu": "250m", "memory": "1Ki"})
    assert requests(spec) == {"cpu": 4250, "memory": 1024}


def test_fractions_are_rounded_once_at_the_end() -> None:
    spec = PodSpec(
        containers=(
            container_with(memory="500m"),
            container_with(memory="500m"),
            container_with(memory="1m"),
        )
    )
    assert requests(spec) == {"memory": 2}


def test_a_sum_beyond_64_bits_is_refused() -> None:
    spec = PodSpec(containers=(container_with(memory="8Ei"), container_with(memory="8Ei")))
    with pytest.raises(InputError, match="memory of all containers"):
        requests(spec)


@pytest.mark.parametrize(
    ("status", "cpu"),
    [
        ({}, 1000),
        ({"containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "3"}}]}, 1000),
        ({"containerStatuses": [{"name": "a", "resources": {"requests": {"cpu": "2"}}}]}, 2000),
        ({"containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "3"},
                                 "resources": {"requests": {"cpu": "2"}}}]}, 3000),
        ({"containerStatuses": [{"name": "a", "resources": {"requests": {"cpu": "500m"}}}]}, 1000),
        ({"containerStatuses": [{"name": "a", "resources": {"requests": {"cpu": "500m"}}}],
          "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]}, 500),
    ],
)  # fmt: skip
def test_a_pod_that_is_resized_takes_the_largest_amount(status: object, cpu: int) -> None:
    assert running_requests(resized(msgspec.json.encode(status).decode()))["cpu"] == cpu


def test_host_ports_default_to_tcp_on_every_address() -> None:
    spec = PodSpec(containers=(listens(ContainerPort(80, host_port=8080)),))
    assert host_ports(spec) == (HostPort("0.0.0.0", "TCP", 8080),)


def test_ports_without_a_host_port_take_nothing() -> None:
    assert host_ports(PodSpec(containers=(listens(ContainerPort(80)),))) == ()


def test_on_the_host_network_every_port_is_a_host_port() -> None:
    spec = PodSpec(containers=(listens(ContainerPort(80, protocol="UDP")),), host_network=True)
    assert host_ports(spec) == (HostPort("0.0.0.0", "UDP", 80),)


def test_of_init_containers_only_the_ports_of_sidecars_count() -> None:
    inits = (
        listens(ContainerPort(1, host_port=1)),
        listens(ContainerPort(2, host_port=2), sidecar=True),
    )
    assert [each.port for each in host_ports(PodSpec(init_containers=inits))] == [2]


@pytest.mark.parametrize(
    ("one", "other", "conflict"),
    [
        (("0.0.0.0", "TCP", 80), ("10.0.0.1", "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), ("10.0.0.1", "TCP", 80), True),
        (("10.0.0.2", "TCP", 80), ("10.0.0.1", "TCP", 80), False),
        (("0.0.0.0", "UDP", 80), ("0.0.0.0", "TCP", 80), False),
        (("0.0.0.0", "TCP", 81), ("0.0.0.0", "TCP", 80), False),
    ],
)
def test_ports_conflict_on_the_same_address_or_on_all(
    one: tuple[str, str, int], other: tuple[str, str, int], conflict: bool
) -> None:
    assert HostPort(*one).conflicts(HostPort(*other)) is conflict
    assert HostPort(*other).conflicts(HostPort(*one)) is conflict
