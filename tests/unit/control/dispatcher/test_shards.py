from stretto.state.rows.lifecycle import PodState, UnitState
from tests.unit.control.dispatcher.fake_cluster import Desk, owned_by


def loads(desk: Desk) -> list[int]:
    return list(desk.dispatcher.views.outstanding().values())


def test_the_least_loaded_shard_is_next_and_the_lowest_number_among_equals() -> None:
    desk = Desk(shards=3)
    desk.arrive("a", "b", "c", "d")
    work = desk.work([9, 9, 9])
    assert [[desk.names(each.rows)[0] for each in one] for one in work] == [
        ["a", "d"],
        ["b"],
        ["c"],
    ]


def test_the_load_grows_before_a_shard_has_read_the_pods() -> None:
    desk = Desk(shards=2)
    desk.arrive("a", "b", "c", owner=owned_by("ReplicaSet", "web"))
    desk.arrive("x", "y")
    assert [len(one) for one in desk.work([9, 9])] == [1, 2]
    assert loads(desk) == [3, 2]


def test_answers_lower_the_load() -> None:
    desk = Desk()
    desk.arrive("a", "b", "c", "d")
    desk.sent()
    desk.assume("a")
    desk.refuse("b")
    desk.no_place("c")
    desk.give_back("d")
    assert loads(desk) == [0]


def test_a_full_shard_gets_nothing() -> None:
    desk = Desk(shards=2)
    desk.arrive("a", "b", "c")
    assert [len(one) for one in desk.work([0, 2])] == [0, 2]


def test_the_pods_of_one_owner_go_to_one_shard() -> None:
    desk = Desk(shards=2)
    for i in range(20):
        desk.arrive(f"p{i}", owner=owned_by("ReplicaSet", "web"))
    assert [[len(each.rows) for each in one] for one in desk.work([50, 50])] == [[20], []]


def test_a_unit_of_several_pods_goes_back_to_its_shard() -> None:
    desk = Desk(shards=2)
    desk.arrive("x")
    desk.arrive("a", "b", owner=owned_by("ReplicaSet", "web"))
    desk.sent(capacity=[9, 9])
    desk.refuse("a", "b")
    desk.assume("x")
    assert [len(one) for one in desk.work([9, 9])] == [0, 1]


def test_a_unit_whose_shard_is_full_goes_to_another() -> None:
    desk = Desk(shards=2)
    desk.arrive("a", "b", owner=owned_by("ReplicaSet", "web"))
    desk.sent(capacity=[9, 9])
    desk.refuse("a", "b")
    assert [len(one) for one in desk.work([0, 9])] == [0, 1]


def test_work_of_a_dead_shard_is_queued_again_in_its_order() -> None:
    desk = Desk(shards=2)
    desk.arrive("a", "b", "c")
    desk.sent(capacity=[9, 9])
    desk.dispatcher.remove_shard(0, desk.now)
    assert desk.state("a") is PodState.PENDING
    assert desk.sent(capacity=[9, 9]) == ["a", "c"]


def test_what_is_assumed_of_a_dead_shard_stays() -> None:
    desk = Desk(shards=2)
    desk.arrive("a", "b", owner=owned_by("ReplicaSet", "web"))
    desk.sent(capacity=[9, 9])
    desk.pods.state[desk.rows["a"]] = PodState.ASSUMED
    desk.dispatcher.remove_shard(0, desk.now)
    assert (desk.sent(capacity=[0, 9]), desk.unit("a").state) == (["b"], UnitState.DISPATCHED)
    assert desk.rows["a"] in desk.unit("a").bound


def test_answers_of_a_dead_shard_count_for_nothing() -> None:
    desk = Desk(shards=2)
    desk.arrive("a")
    desk.sent(capacity=[9, 9])
    desk.dispatcher.remove_shard(0, desk.now)
    desk.no_place("a")
    assert desk.sent(capacity=[9, 9]) == ["a"]


def test_without_a_shard_everything_waits() -> None:
    desk = Desk(shards=0)
    desk.arrive("a")
    assert desk.work([9]) == [[]]
    desk.dispatcher.add_shard(0)
    assert desk.sent() == ["a"]


def test_a_shard_may_come_back_under_its_number() -> None:
    desk = Desk()
    desk.dispatcher.remove_shard(0, desk.now)
    desk.dispatcher.remove_shard(0, desk.now)
    desk.dispatcher.add_shard(0)
    desk.arrive("a")
    assert desk.sent() == ["a"]


def test_pods_that_changed_before_they_were_handed_out_are_held_back() -> None:
    desk = Desk()
    desk.arrive("a", "b")
    desk.pods.state[desk.rows["a"]] = PodState.BOUND
    assert desk.sent() == ["b"]
    desk.absorb(bound=[desk.rows["a"]])
    assert (desk.sent(), desk.dispatcher.audit()) == ([], [])
