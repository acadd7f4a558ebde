"""The published protocol's input: orders, tuning and typical pods, all from the seed."""

from pathlib import Path

import numpy as np
import pytest

from stretto.base.errors import InputError
from stretto.inputs.neutral.fleet import Fleet, FleetNode, FleetPod
from stretto.inputs.traces.openb.figures import bundled_openb
from stretto.inputs.traces.openb.protocol import ArrivalOrder, protocol_input, typical_pods
from stretto.inputs.traces.openb.reader import load_openb

FLEET = Fleet(
    nodes=tuple(FleetNode(f"n-{i}", 8000, 8192, 2, "T4") for i in (2, 0, 1)),
    pods=tuple(FleetPod(f"p-{i}", 1000, 1024, 1, 500) for i in range(10)),
)


def test_the_same_seed_gives_the_same_input() -> None:
    first, second = protocol_input(FLEET, 42), protocol_input(FLEET, 42)
    assert first.names == second.names
    assert first.node_order.tolist() == second.node_order.tolist()


def test_another_seed_gives_another_input() -> None:
    fleet = bundled_openb()
    assert protocol_input(fleet, 42).names != protocol_input(fleet, 43).names


def test_the_draws_of_the_seeds_never_change() -> None:
    drawn = protocol_input(FLEET, 42)
    assert drawn.node_order.tolist() == [2, 1, 0]
    assert drawn.arrivals.tolist()[:6] == [3, 9, 5, 7, 1, 4]


def test_every_pod_of_the_list_comes_before_any_comes_again() -> None:
    drawn = protocol_input(FLEET, 42, 130)
    assert sorted(drawn.arrivals[:10].tolist()) == list(range(10))
    assert len(drawn.arrivals) == 15


def test_arrivals_stop_before_they_pass_the_target() -> None:
    drawn = protocol_input(bundled_openb(), 42, 130)
    assert 129.9 < drawn.arrived_pct[-1] <= 130


def test_a_list_above_the_target_is_cut_at_random() -> None:
    drawn = protocol_input(FLEET, 42, 50)
    assert len(drawn.arrivals) == 6
    assert drawn.arrived_pct[-1] == pytest.approx(50)


def test_a_pod_that_comes_again_has_a_name_of_its_own() -> None:
    names = protocol_input(FLEET, 42, 300).names
    assert len(set(names)) == len(names) == 36


def test_file_order_sorts_nodes_by_name_and_keeps_the_order_of_pods() -> None:
    drawn = protocol_input(FLEET, 0, None, ArrivalOrder.FILE)
    assert drawn.node_order.tolist() == [1, 2, 0]
    assert drawn.names == tuple(pod.name for pod in FLEET.pods)


@pytest.mark.parametrize("share", [0, -1, 1001, float("nan"), float("inf")])
def test_an_absurd_share_is_refused(share: float) -> None:
    with pytest.raises(InputError, match=r"expected a percentage above 0, at most 1000"):
        protocol_input(FLEET, 42, share)


def test_a_fleet_without_gpus_cannot_be_filled() -> None:
    fleet = Fleet((FleetNode("n", 1, 1),), FLEET.pods)
    with pytest.raises(InputError, match="expected GPUs to fill, but the nodes have no GPU"):
        protocol_input(fleet, 42)


def test_pods_without_gpus_cannot_fill_a_fleet() -> None:
    fleet = Fleet(FLEET.nodes, (FleetPod("p", 1, 1),))
    with pytest.raises(InputError, match="but the pods request no GPU"):
        protocol_input(fleet, 42)


def test_a_fill_without_an_end_is_rejected() -> None:
    pods = (FleetPod("g", 1, 1, 1, 1), *(FleetPod(f"c-{i}", 1, 1) for i in range(5000)))
    with pytest.raises(InputError, match="within 5,000,000 pods"):
        protocol_input(Fleet(FLEET.nodes, pods), 42, 1000)


def test_typical_pods_are_the_commonest_until_the_share_is_covered() -> None:
    common = [FleetPod(f"a-{i}", 1000, 1, 1, 500) for i in range(6)]
    less = [FleetPod(f"b-{i}", 2000, 1, 1, 1000, ("T4",)) for i in range(3)]
    typical = typical_pods([FleetPod("c", 3000, 1), *less, *common], 0.9)
    assert typical.cpu_milli.tolist() == [1000, 2000]
    assert typical.models == ((), ("T4",))
    assert typical.frequency.tolist() == pytest.approx([2 / 3, 1 / 3])


def test_memory_and_quality_make_no_kind() -> None:
    assert len(typical_pods([FleetPod("a", 1, 5), FleetPod("b", 1, 9, qos="BE")])) == 1


def test_no_pods_have_no_typical_ones() -> None:
    assert len(typical_pods([])) == 0


def test_the_default_list_has_35_typical_kinds() -> None:
    typical = typical_pods(bundled_openb().pods)
    assert len(typical) == 35
    assert np.isclose(typical.frequency.sum(), 1)


def test_a_published_list_above_the_target_is_cut(shared_data: Path) -> None:
    folder = shared_data / "openb"
    fleet = load_openb(
        folder / "openb_node_list_gpu_node.csv", folder / "openb_pod_list_multigpu50.csv"
    )
    assert 129.8 < protocol_input(fleet, 42).arrived_pct[-1] <= 130
