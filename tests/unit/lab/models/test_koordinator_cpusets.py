"""Koordinator's selection of exclusive CPUs."""

import pytest

from stretto.base.errors import InputError
from stretto_lab.models.koordinator import cpusets
from stretto_lab.models.koordinator.cpusets import (
    BindPolicy,
    Cpu,
    CpuHolding,
    CpuRequest,
    CpuState,
    Exclusive,
    Order,
)

TOPOLOGY = tuple(Cpu(cpu, 0, 0, cpu // 2) for cpu in range(8))


WIDE = tuple(Cpu(cpu, cpu // 4, cpu // 4, cpu // 2) for cpu in range(12))


FREE = CpuState(TOPOLOGY, frozenset(range(8)))


def test_a_pod_gets_whole_cores() -> None:
    assert cpusets.take(FREE, CpuRequest(4), frozenset()) == {0, 1, 2, 3}


def test_a_node_that_an_exclusive_pod_has_taken_gives_single_cpus_last() -> None:
    state = CpuState(WIDE, frozenset({4, 5, 6, 8}))
    request = CpuRequest(3, exclusive=Exclusive.NUMA)
    assert cpusets.take(state, request, frozenset()) == {4, 5, 8}


def test_a_node_of_another_exclusive_pod_gives_single_cpus_last() -> None:
    held = {1: CpuHolding(1, Exclusive.NUMA)}
    state = CpuState(WIDE, frozenset({0, 5, 9}), held)
    request = CpuRequest(2, exclusive=Exclusive.NUMA)
    assert cpusets.take(state, request, frozenset()) == {5, 9}


def test_sockets_are_compared_by_free_cores_when_each_core_gives_one_cpu() -> None:
    topology = tuple(Cpu(cpu, cpu // 12, cpu // 4, cpu // 2) for cpu in range(24))
    state = CpuState(topology, frozenset({0, 2, 4, 6, 12, 13, 16, 17, 20}))
    request = CpuRequest(3, BindPolicy.SPREAD, order=Order.LEAST_ALLOCATED)
    assert cpusets.take(state, request, frozenset()) == {0, 2, 4}


def test_each_socket_left_over_gives_a_whole_core() -> None:
    topology = tuple(Cpu(cpu, cpu // 8, cpu // 8, cpu // 2) for cpu in range(24))
    free = frozenset(cpu for cpu in range(24) if cpu % 8 < 4)
    assert len(cpusets.take(CpuState(topology, free), CpuRequest(7), frozenset())) == 8


def test_too_few_cpus_are_an_error_that_counts_them() -> None:
    with pytest.raises(InputError, match="cpus"):
        cpusets.take(FREE, CpuRequest(9), frozenset())
