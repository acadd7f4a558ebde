"""Grids, trees and decisions of a state."""

import asyncio

from stretto.api.wire.kinds import POD
from stretto.control.dispatcher.usage_report import QueueFacts
from stretto.explain.inventory.meta import age_of
from stretto.explain.inventory.nodes import NodeRow, NodeUse
from stretto.explain.inventory.pods import PodRow
from stretto.stores.store import Record
from stretto.testing import Harness, make_node, make_pod
from stretto.web.dashboard.frames import INTERVAL, FrameHub
from stretto.web.dashboard.ticker import Ticker
from stretto.web.views.decisions import DecisionLog, PodDecision, matching_decisions
from stretto.web.views.node_grid import ABSENT, STEPS, NodeGrid, NodeState
from stretto.web.views.queue_tree import queue_tree
from stretto.web.views.shares import resource_shares
from stretto.web.views.tables import sorted_nodes, sorted_pods
from tests.unit.web.dashboards import small_cluster, source_of

HEAD = 12


def test_a_frame_has_the_use_of_each_node() -> None:
    harness = Harness(nodes=[make_node("n1", cpu="4"), make_node("n2", cpu="4", gpus=2)])
    selector = {"kubernetes.io/hostname": "n1"}
    harness.submit(make_pod("web", cpu="2", spec={"nodeSelector": selector}))
    harness.settle()
    grid = NodeGrid(harness.plane.cluster)
    cells = dict(zip(grid.layout.names, grid.frame(harness.plane.cluster, "cpu"), strict=True))
    assert cells == {"n1": 1 + STEPS // 2, "n2": 1}


def test_a_node_without_a_resource_is_absent_from_its_frame() -> None:
    harness = Harness(nodes=[make_node("n1"), make_node("n2", resources={"example.com/x": "2"})])
    harness.settle()
    grid = NodeGrid(harness.plane.cluster)
    assert list(grid.frame(harness.plane.cluster, "example.com/x")) == [ABSENT, 1]


def test_a_frame_has_the_use_of_gpus() -> None:
    harness = Harness(nodes=[make_node("n1"), make_node("n2", gpus=8)])
    harness.submit(make_pod("train", cpu="1", gpus=2))
    harness.settle()
    grid = NodeGrid(harness.plane.cluster)
    assert "nvidia.com/gpu" in grid.layout.columns
    assert list(grid.frame(harness.plane.cluster, "nvidia.com/gpu")) == [ABSENT, 1 + STEPS // 4]


def test_a_layout_groups_nodes_by_zone() -> None:
    layout = NodeGrid(small_cluster().plane.cluster).layout
    names, numbers = layout.groups["zone"]
    assert names == ("a", "")
    assert {layout.names[i]: names[n] for i, n in enumerate(numbers)} == {"n1": "a", "n2": ""}


def test_a_layout_shows_closed_nodes() -> None:
    taint = {"key": "a", "value": "b", "effect": "NoSchedule"}
    lost = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    nodes = [
        make_node("n1", unschedulable=True),
        make_node("n2", taints=[taint]),
        make_node("n3"),
        make_node("n4", unschedulable=True, taints=[lost]),
        make_node("n5", taints=[{**taint, "effect": "PreferNoSchedule"}]),
    ]
    harness = Harness(nodes=nodes)
    harness.settle()
    state = NodeState
    expected = (state.CORDONED, state.TAINTED, state.OPEN, state.NOT_READY, state.OPEN)
    assert NodeGrid(harness.plane.cluster).layout.states == expected


def test_viewers_of_an_unchanged_state_share_one_layout() -> None:
    hub = FrameHub(source_of(small_cluster()), Ticker(INTERVAL))

    async def both() -> tuple[bytes, bytes]:
        return await hub.layout(), await hub.layout()

    first, second = asyncio.run(both())
    assert first is second


def test_a_frame_changes_when_a_pod_is_placed() -> None:
    harness = small_cluster()
    hub = FrameHub(source_of(harness), Ticker(INTERVAL))
    before = asyncio.run(hub.frame("cpu"))
    harness.submit(make_pod("more", cpu="2"))
    harness.settle()
    assert asyncio.run(hub.frame("cpu"))[HEAD:] != before[HEAD:]


def test_a_version_changes_with_a_pod_that_stays_pending() -> None:
    harness = small_cluster()
    source = source_of(harness)
    before = source.version
    harness.submit(make_pod("second-dream", cpu="64"))
    harness.settle()
    assert source.version > before


def test_viewers_wake_together_at_one_tick() -> None:
    ticker = Ticker(0.01)
    woken: list[int] = []

    async def viewer(number: int) -> None:
        await ticker.wait()
        woken.append(number)
        await ticker.wait()
        woken.append(number)

    async def all_of_them() -> None:
        await asyncio.gather(*(viewer(number) for number in range(3)))

    asyncio.run(all_of_them())
    assert [sorted(woken[:3]), sorted(woken[3:])] == [[0, 1, 2], [0, 1, 2]]


def test_a_log_drops_its_oldest_decisions() -> None:
    log = DecisionLog(kept=2)
    log.add([PodDecision(float(t), f"default/p{t}", "placed") for t in range(5)])
    position, found = log.after(0)
    assert (position, [each.time_s for each in found]) == (5, [3.0, 4.0])
    assert log.after(4)[1] == found[1:]


def test_a_source_notes_what_a_step_decided() -> None:
    harness = Harness(nodes=[make_node("n1", cpu="4")])
    source = source_of(harness)
    harness.submit(make_pod("web", cpu="1"), make_pod("dream", cpu="64"))
    harness.settle()
    steps = {(each.pod, each.step, each.node) for each in source.decisions(0)[1]}
    assert {("default/web", "placed", "n1"), ("default/dream", "no place", "")} <= steps


def test_queues_are_a_tree_with_parents_first() -> None:
    queues = [QueueFacts("b", "a", "Priority"), QueueFacts("a", "", "DRF")]
    assert [(each.facts.name, each.depth) for each in queue_tree(queues)] == [("a", 0), ("b", 1)]


def test_a_queue_shows_its_use_against_guarantee_and_limit() -> None:
    queue = QueueFacts("a", "", "DRF", counted={"cpu": "2"}, limit={"cpu": "8"}, used={"cpu": "4"})
    (bar,) = queue_tree([queue])[0].bars
    assert (bar.used_pct, bar.guarantee_pct, bar.limit_pct) == (50.0, 25.0, 100.0)


def test_a_queue_names_the_guarantees_that_it_borrows_from() -> None:
    lends = QueueFacts("a", "", "DRF", counted={"cpu": "4"}, used={"cpu": "1"})
    borrows = QueueFacts("b", "", "DRF", borrowed={"cpu": "2"}, used={"cpu": "2"})
    (bar,) = queue_tree([lends, borrows])[1].bars
    assert bar.borrowed == "2 borrowed; unused guarantees: a (3)"


def test_a_queue_borrows_beyond_its_parent_if_that_borrows_too() -> None:
    lends = QueueFacts("a", "", "DRF", counted={"cpu": "4"})
    parent = QueueFacts("b", "", "DRF", borrowed={"cpu": "2"}, used={"cpu": "2"})
    child = QueueFacts("c", "b", "DRF", borrowed={"cpu": "2"}, used={"cpu": "2"})
    (bar,) = queue_tree([lends, parent, child])[2].bars
    assert bar.borrowed == "2 borrowed; unused guarantees: a (4)"


def test_decisions_have_the_time_of_the_clock() -> None:
    harness = Harness(nodes=[make_node("n1", cpu="4")])
    source = source_of(harness)
    harness.clock.jump_wall(1_790_000_000.0)
    harness.submit(make_pod("web", cpu="1"))
    harness.settle()
    assert {each.time_s for each in source.decisions(0)[1]} == {1_790_000_000.0}


def test_the_age_of_a_pod_of_a_clock_that_is_ahead_is_zero() -> None:
    record = Record(POD, "default", "web", "u1", 1, b"", created="2026-09-21T15:00:00Z")
    assert age_of(record, 1_790_000_000.0) == 0.0
    assert age_of(record, 5.0) is None


def test_shards_count_the_outcomes_of_a_running_plane() -> None:
    harness = Harness(nodes=[make_node("n1", cpu="4")])
    source = source_of(harness)
    harness.submit(make_pod("web", cpu="1"), make_pod("dream", cpu="64"))
    harness.settle()
    with source.open() as state:
        (shard,) = state.shards()
    assert (shard.placed, shard.refused, shard.no_place) == (1, 0, 1)


def test_a_queue_names_the_borrowers_of_its_guarantee() -> None:
    waits = QueueFacts("a", "", "DRF", counted={"cpu": "4"}, used={"cpu": "1"}, pending=2)
    borrows = QueueFacts("b", "", "DRF", borrowed={"cpu": "3"}, used={"cpu": "3"})
    assert queue_tree([waits, borrows])[0].borrowers == ("b",)


def test_the_shares_of_a_resource_name_the_queues_that_use_it() -> None:
    harness = Harness(nodes=[make_node("n1", cpu="8", gpus=8)])
    harness.settle()
    queues = [
        QueueFacts("research", "", "DRF", used={"nvidia.com/gpu": "6"}),
        QueueFacts("vision", "research", "FIFO", used={"nvidia.com/gpu": "2"}),
        QueueFacts("speech", "research", "FIFO", used={"nvidia.com/gpu": "4"}),
    ]
    gpus = resource_shares(queues, harness.plane.cluster)[0]
    assert (gpus.resource, gpus.total, gpus.rest) == ("nvidia.com/gpu", "8", "2")
    parts = [(each.queue, each.text, each.start, each.pct) for each in gpus.parts]
    assert parts == [("speech", "4", 0.0, 50.0), ("vision", "2", 50.0, 25.0)]


def test_there_are_no_shares_if_no_policy_counts_use() -> None:
    queues = [QueueFacts("default", "", "Priority", is_counted=False)]
    assert resource_shares(queues, small_cluster().plane.cluster) == []


def test_decisions_before_a_time_are_left_out() -> None:
    made = [PodDecision(time, f"default/p{time:g}", "placed") for time in (1.0, 2.0, 3.0)]
    found = matching_decisions(made, "", 2.0)
    assert [each.time_s for each in found] == [3.0, 2.0]


def test_nodes_are_sorted_by_use_or_by_status() -> None:
    use = {"cpu": NodeUse("4", "3", 75.0)}
    rows = [NodeRow("a", "ready"), NodeRow("b", "ready", resources=use), NodeRow("c", "not ready")]
    assert [each.name for each in sorted_nodes(rows, "cpu")] == ["b", "a", "c"]
    assert [each.name for each in sorted_nodes(rows, "status")] == ["c", "a", "b"]


def test_pods_are_sorted_by_age_or_those_that_wait_first() -> None:
    rows = [PodRow("d", "a", "bound", "n1", age_s=5.0), PodRow("d", "b", "pending", age_s=9.0)]
    rows.append(PodRow("d", "c", "bound", "n1", priority=7))
    assert [each.name for each in sorted_pods(rows, "age")] == ["b", "a", "c"]
    assert [each.name for each in sorted_pods(rows, "pending")] == ["b", "a", "c"]
    assert [each.name for each in sorted_pods(rows, "priority")] == ["c", "a", "b"]
