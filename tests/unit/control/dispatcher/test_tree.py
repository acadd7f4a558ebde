import pytest

from stretto.control.queues.config import QueueConfig
from stretto.state.queues.shape import SiblingPolicy
from stretto.state.rows.lifecycle import UnitState
from tests.unit.control.dispatcher.fake_cluster import Desk, owned_by

TOP = QueueConfig("top", "DRF")


def sub(name: str, policy: str = "FifoSkip", **more: object) -> QueueConfig:
    return QueueConfig(name, policy, parent="top", **more)  # type: ignore[arg-type]


def held(desk: Desk, queue: str) -> int:
    usage = desk.dispatcher._places.usage
    assert usage is not None
    branch = usage.tree.find(queue)
    assert branch is not None
    return branch.used.get(0, 0)


def test_nothing_starts_above_a_limit_and_it_starts_once_the_limit_allows() -> None:
    desk = Desk(QueueConfig("q", "FifoSkip", limit={"cpu": 2}))
    desk.arrive("a", "b", "c", queue="q")
    assert desk.sent() == ["a", "b"]
    desk.place("a", "b")
    assert desk.sent() == []
    desk.delete("a")
    assert desk.sent() == ["c"]


def test_what_is_at_a_shard_counts_for_the_limit() -> None:
    desk = Desk(QueueConfig("q", "FifoSkip", limit={"cpu": 2}))
    desk.arrive("a", queue="q", class_id=1)
    desk.sent()
    desk.arrive("c", queue="q")
    assert desk.sent() == []
    desk.no_place("a")
    assert desk.sent() == ["c"]


def test_a_limit_holds_for_all_queues_below_it_together() -> None:
    desk = Desk(QueueConfig("top", limit={"cpu": 3}), sub("a"), sub("b"))
    desk.arrive("a1", "a2", "a3", queue="a")
    desk.arrive("b1", "b2", "b3", queue="b")
    assert (len(desk.sent()), held(desk, "top")) == (3, 3)


def test_what_ends_in_one_queue_lets_its_sibling_start() -> None:
    desk = Desk(QueueConfig("top", limit={"cpu": 2}), sub("a"), sub("b"), sub("c"))
    desk.arrive("a1", "a2", queue="a")
    desk.place(*desk.sent())
    desk.arrive("b1", queue="b")
    desk.arrive("c1", queue="c")
    assert desk.sent() == []
    desk.delete("a1")
    assert desk.sent() == ["b1"]
    desk.delete("a2")
    assert desk.sent() == ["c1"]


def test_a_unit_too_large_for_the_limit_is_passed_where_the_policy_lets_pass() -> None:
    desk = Desk(
        QueueConfig("skip", "FifoSkip", limit={"cpu": 2}),
        QueueConfig("fifo", "FIFO", limit={"cpu": 2}),
    )
    for queue in ("skip", "fifo"):
        desk.arrive(f"{queue}-large", queue=queue, class_id=2)
        desk.arrive(f"{queue}-small", queue=queue)
    assert desk.sent() == ["skip-small"]


def test_a_gang_starts_with_as_many_members_as_the_limit_admits_and_never_fewer() -> None:
    desk = Desk(QueueConfig("q", "FifoSkip", limit={"cpu": 4}))
    desk.group("g", 3)
    desk.arrive("x", "y", queue="q")
    desk.place(*desk.sent())
    desk.arrive("g1", "g2", "g3", "g4", group="g", queue="q")
    assert desk.sent() == []
    desk.delete("x")
    assert desk.sent() == ["g1", "g2", "g3"]
    desk.place("g1", "g2", "g3")
    desk.delete("y")
    assert desk.sent() == ["g4"]


def test_pods_of_one_owner_start_as_far_as_the_limit_goes() -> None:
    desk = Desk(QueueConfig("q", "FifoSkip", limit={"cpu": 7}))
    desk.arrive("a", "b", "c", class_id=2, queue="q", owner=owned_by("ReplicaSet", "r"))
    assert desk.sent() == ["a", "b"]


def test_no_more_units_run_than_a_queue_permits() -> None:
    desk = Desk(QueueConfig("q", "FifoSkip", max_running_units=2))
    desk.arrive("a", "b", "c", queue="q")
    desk.place(*desk.sent())
    desk.delete("b")
    assert desk.sent() == ["c"]


def test_a_running_unit_may_grow_though_no_more_units_may_run() -> None:
    desk = Desk(QueueConfig("q", "FifoSkip", max_running_units=1))
    desk.group("g", 2)
    desk.arrive("g1", "g2", group="g", queue="q")
    desk.place(*desk.sent())
    desk.arrive("other", queue="q")
    desk.arrive("g3", group="g", queue="q")
    assert desk.sent() == ["g3"]


def test_a_queue_closed_by_zero_units_starts_nothing() -> None:
    desk = Desk(QueueConfig("q", max_running_units=0))
    desk.arrive("a", queue="q")
    assert (desk.sent(), desk.unit("a").state) == ([], UnitState.QUEUED)


def test_below_its_guarantee_a_queue_goes_first_whatever_it_holds() -> None:
    desk = Desk(
        TOP, sub("owed", guarantee={"cpu": 4}), sub("other", weight=9.0), between=SiblingPolicy.DRF
    )
    desk.arrive(*(f"o{i}" for i in range(6)), queue="owed")
    desk.arrive(*(f"x{i}" for i in range(3)), queue="other")
    assert desk.sent() == ["o0", "o1", "o2", "o3", "x0", "x1", "x2", "o4", "o5"]


def test_shares_are_compared_level_by_level() -> None:
    """As Mesos' sorter: a/b and a/c share what d has alone."""
    desk = Desk(
        QueueConfig("a", "DRF"),
        QueueConfig("b", "FifoSkip", parent="a"),
        QueueConfig("c", "FifoSkip", parent="a"),
        between=SiblingPolicy.DRF,
    )
    for queue in "bcd":
        desk.arrive(*(f"{queue}{i}" for i in range(6)), queue=queue)
    sent = desk.sent(capacity=8)
    assert [sum(name[0] == queue for name in sent) for queue in "bcd"] == [2, 2, 4]


def test_an_inner_queue_without_fair_turns_takes_turns_by_weight() -> None:
    desk = Desk(QueueConfig("top"), sub("a", weight=2.0), sub("b"))
    desk.arrive(*(f"a{i}" for i in range(9)), queue="a")
    desk.arrive(*(f"b{i}" for i in range(9)), queue="b")
    assert sum(name[0] == "a" for name in desk.sent(capacity=9)) == 6


def test_a_queue_that_has_queues_may_have_units_of_its_own() -> None:
    desk = Desk(TOP, sub("a"), between=SiblingPolicy.DRF)
    desk.arrive("t1", "t2", queue="top")
    desk.arrive("a1", "a2", queue="a")
    assert sorted(desk.sent(capacity=2)) == ["a1", "t1"]
    assert held(desk, "top") == 2


def test_a_new_label_is_no_way_past_a_limit() -> None:
    desk = Desk(QueueConfig("full", limit={"cpu": 0}), QueueConfig("free", "FifoSkip"))
    desk.group("g", 1)
    desk.arrive("a", group="g", queue="free")
    desk.place(*desk.sent())
    desk.group("g", 1, annotations={"stretto.dev/queue": "full"})
    assert (desk.unit("a").queue, held(desk, "free"), held(desk, "full")) == ("full", 1, 0)


def test_held_usage_moves_along_if_the_limit_allows() -> None:
    desk = Desk(QueueConfig("roomy", limit={"cpu": 5}), QueueConfig("free", "FifoSkip"))
    desk.group("g", 1)
    desk.arrive("a", group="g", queue="free")
    desk.place(*desk.sent())
    desk.group("g", 1, annotations={"stretto.dev/queue": "roomy"})
    assert (held(desk, "free"), held(desk, "roomy"), desk.dispatcher.audit()) == (0, 1, [])


def test_capacity_that_a_full_queue_cannot_use_wakes_units_of_others() -> None:
    desk = Desk(QueueConfig("full", "FifoSkip", limit={"cpu": 1}), QueueConfig("free", "FifoSkip"))
    desk.arrive("f1", "f2", queue="full")
    desk.place(*desk.sent())
    desk.arrive("x", queue="free")
    desk.sent()
    desk.no_place("x")
    desk.delete("f1")
    desk.arrive("f3", queue="full")
    desk.wake(fits=2)
    assert desk.sent() == ["f2", "x"]


@pytest.mark.parametrize("policy", ["FIFO", "Priority", "ShortestFirst", "FifoSkip", "Easy"])
def test_every_policy_keeps_the_limit(policy: str) -> None:
    desk = Desk(QueueConfig("q", policy, limit={"cpu": 3}))
    desk.arrive(*(f"p{i}" for i in range(9)), queue="q")
    sent = desk.sent()
    desk.place(*sent)
    assert (len(sent), held(desk, "q"), desk.sent()) == (3, 3, [])
