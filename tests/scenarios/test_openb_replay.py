"""openb in its own time through the real plane, against a plain program."""

from pathlib import Path

import msgspec
import pytest

from stretto.base.errors import InputError
from stretto.inputs.neutral.fleet import Fleet, FleetNode, FleetPod
from stretto.inputs.neutral.shapes import matching_nodes
from stretto.inputs.traces.openb.reader import load_openb
from stretto.sim.engine import UnfitPolicy
from stretto.sim.traces.openb import ReplayReport, ReplayStudy, replay_openb
from tests.support.references import hosts

#: The first of these tests compiles the kernels if they are not compiled yet.
pytestmark = pytest.mark.timeout(240)

NODE = FleetNode("n1", 8000, 8192, 2, "T4")


def rejecting(nodes: tuple[FleetNode, ...], pods: tuple[FleetPod, ...]) -> ReplayReport:
    return replay_openb(Fleet(nodes, pods), ReplayStudy(unfit=UnfitPolicy.REJECT)).report


def pod(name: str, start: float, end: float, **more: object) -> FleetPod:
    return msgspec.structs.replace(
        FleetPod(name, 1000, 1024, 1, 1000, qos="LS", arrival_s=start, departure_s=end), **more
    )


def real(shared_data: Path, nodes: str = "openb_node_list_gpu_node.csv") -> Fleet:
    folder = shared_data / "openb"
    return load_openb(folder / nodes, folder / "openb_pod_list_default.csv")


@pytest.mark.parametrize(("wanted", "limit"), [("model=G2,gpu=8", 3), ("model=T4,gpu=4", 5)])
def test_the_real_trace_agrees_with_a_plain_program(
    shared_data: Path, wanted: str, limit: int
) -> None:
    fleet = real(shared_data)
    nodes = matching_nodes(fleet.nodes, wanted, limit)
    pods = fleet.pods[:800]
    assert msgspec.to_builtins(rejecting(nodes, pods)) == hosts.replay(nodes, pods)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_whole_trace_agrees_with_a_plain_program(shared_data: Path) -> None:
    fleet = real(shared_data)
    nodes = matching_nodes(fleet.nodes, "model=G2,gpu=8", 3)
    assert msgspec.to_builtins(rejecting(nodes, fleet.pods)) == hosts.replay(nodes, fleet.pods)


def test_a_deletion_frees_capacity_for_a_creation_of_the_same_instant() -> None:
    pods = (pod("a", 0, 5, gpus=2), pod("b", 5, 6, gpus=2))
    assert rejecting((NODE,), pods).placed == 2


def test_a_pod_that_is_deleted_as_it_is_created_is_left_out() -> None:
    report = rejecting((NODE,), (pod("a", 3, 3), pod("b", 3, 4)))
    assert (report.placed, report.rejected) == (1, 0)


def test_what_does_not_fit_is_counted_by_quality_of_service() -> None:
    pods = (pod("a", 0, 9, gpus=2), pod("b", 1, 9, qos="BE"), pod("c", 2, 9, qos=""))
    assert rejecting((NODE,), pods).rejected_by_qos == {"BE": 1, "none": 1}


def test_a_pending_pod_starts_when_capacity_is_freed_and_ends_on_time() -> None:
    pods = (pod("a", 0, 5, gpus=2), pod("b", 1, 8), pod("c", 1, 4))
    report = replay_openb(Fleet((NODE,), pods), ReplayStudy(unfit=UnfitPolicy.WAIT)).report
    assert (report.placed, report.rejected) == (2, 1)
    assert report.gpu_milli_seconds == 2000 * 5 + 1000 * 3


def test_equal_scores_go_to_the_smallest_node_name() -> None:
    names = ("n10", "n9", "a")
    nodes = tuple(msgspec.structs.replace(NODE, name=name) for name in names)
    pods = tuple(pod(f"p{i}", i, 99, gpus=2) for i in range(3))
    assert msgspec.to_builtins(rejecting(nodes, pods)) == hosts.replay(nodes, pods)


def test_a_list_without_times_is_refused_with_what_to_do() -> None:
    with pytest.raises(InputError, match="use the long form of the list"):
        rejecting((NODE,), (FleetPod("a", 1, 1),))
