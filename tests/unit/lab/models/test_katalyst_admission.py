"""Katalyst's admission of pods on a node with overcommit."""

import pytest

from stretto_lab.models.katalyst.admission import NodeAdmission, OvercommittedNode, PodCpu, admit

PINNED = OvercommittedNode(2.0, 1.0, 16_000, pins_cpu=True, pins_memory=False)


@pytest.mark.parametrize(
    ("present", "pod", "found"),
    [
        ([PodCpu(4, 0, 4_000)], PodCpu(4, 0, 4_000), NodeAdmission.ADMITTED),
        ([PodCpu(8, 0, 8_000)], PodCpu(8, 0, 8_001), NodeAdmission.ADMITTED),
        ([PodCpu(8, 0, 8_000)], PodCpu(9, 0, 9_000), NodeAdmission.TOO_LITTLE_CPU),
        ([PodCpu(0, 24_000, 24_000)], PodCpu(0, 8_001, 8_001), NodeAdmission.TOO_LITTLE_CPU),
        ([PodCpu(0, 99_000, 99_000)], PodCpu(0, 0, 0), NodeAdmission.ADMITTED),
    ],
)
def test_an_exclusive_core_takes_its_ratio_out_of_the_overcommitted_part(
    present: list[PodCpu], pod: PodCpu, found: NodeAdmission
) -> None:
    assert admit(PINNED, present, pod) is found


def test_a_node_that_pins_memory_admits_no_pod_if_it_overcommits_memory() -> None:
    node = OvercommittedNode(1.0, 1.5, 16_000, pins_cpu=False, pins_memory=True)
    assert admit(node, [], PodCpu(0, 1, 1)) is NodeAdmission.PINNED_MEMORY
