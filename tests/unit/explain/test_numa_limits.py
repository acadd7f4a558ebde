"""A pod that no NUMA node or socket of any empty node holds never fits; it does not wait."""

import pytest

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.explain.why.remedies.remedy import CureKind
from stretto.explain.words.reasons import ReasonCode, ReasonTier
from stretto.testing import Harness, make_node, make_pod, make_report, numa_notes
from tests.support.explained import dominant, explained

SOCKET = numa_notes(
    **{"katalyst.kubewharf.io/cpu_enhancement": '{"align_by_socket": "true"}'},
)


def machine() -> Harness:
    """One node of two sockets, each with two NUMA nodes of 16 cores and one GPU."""
    harness = Harness([make_node("n0", cpu="64", memory="256Gi", gpus=4)], config={"tier": "numpy"})
    numas = [{"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "1"}] * 4
    report = make_report("n0", numas, sockets=2, gpus=[(i,) for i in range(4)])
    harness.create(CUSTOM_NODE_RESOURCE, report)
    harness.settle(2)
    return harness


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (make_pod("p", gpus=3, annotations=SOCKET), "nvidia.com/gpu: requests 3, largest socket 2"),
        (make_pod("p", cpu="40", annotations=SOCKET), "cpu: requests 40, largest socket 32"),
        (
            make_pod("p", cpu="20", annotations=numa_notes()),
            "requests 20, largest NUMA node 16",
        ),
        (make_pod("p", gpus=2, annotations=numa_notes()), "requests 2, largest NUMA node 1"),
    ],
)
def test_a_request_beyond_a_socket_or_numa_node_never_fits(pod: bytes, words: str) -> None:
    harness = machine()
    harness.submit(pod)
    harness.settle(5)
    why = dominant(harness, "p")
    assert (why.code, why.tier) == (ReasonCode.TOO_BIG, ReasonTier.NEVER_FITS)
    assert words in why.sentence


def test_a_pod_that_never_fits_has_no_capacity_cure() -> None:
    harness = machine()
    harness.submit(make_pod("p", gpus=3, annotations=SOCKET))
    harness.settle(5)
    assert CureKind.CAPACITY not in {each.kind for each in explained(harness, "p").cures}


def test_full_numa_nodes_are_full() -> None:
    harness = machine()
    harness.submit(*[make_pod(f"b{i}", cpu="12", annotations=numa_notes()) for i in range(4)])
    harness.settle(5)
    harness.submit(make_pod("p", cpu="8", annotations=numa_notes()))
    harness.settle(5)
    why = dominant(harness, "p")
    assert why.code is ReasonCode.NO_CAPACITY
    assert "large enough but full" in why.sentence
