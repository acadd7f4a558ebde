from stretto.control.queues.config import QueueConfig
from stretto.state.queues.hierarchy import build_hierarchy


def queue(
    name: str, parent: str = "", cpu: int | None = None, limit: int | None = None
) -> QueueConfig:
    return QueueConfig(
        name,
        parent=parent,
        guarantee={} if cpu is None else {"cpu": cpu},
        limit={} if limit is None else {"cpu": limit},
    )


def test_queues_lie_below_the_parents_that_they_name() -> None:
    layout = build_hierarchy([queue("leaf", "mid"), queue("mid", "top"), queue("top")])
    assert layout.parents == {"top": "root", "mid": "top", "leaf": "mid"}
    assert layout.faults == {}


def test_queues_in_a_cycle_become_children_of_the_root_and_report_it() -> None:
    layout = build_hierarchy([queue("a", "c"), queue("b", "a"), queue("c", "b"), queue("d", "a")])
    assert layout.parents == {"a": "root", "b": "root", "c": "root", "d": "a"}
    assert "a -> c -> b -> a is a cycle" in layout.faults["a"][0]
    assert sorted(layout.faults) == ["a", "b", "c"]


def test_a_queue_of_a_parent_that_does_not_exist_reports_it() -> None:
    layout = build_hierarchy([queue("a", "nowhere", 5)])
    assert layout.parents == {"a": "root"}
    assert "got 'nowhere', but this queue does not exist" in layout.faults["a"][0]


def test_a_guarantee_above_the_parents_is_cut_to_it() -> None:
    layout = build_hierarchy([queue("top", cpu=8000), queue("a", "top", 12_000)])
    assert layout.guarantees["a"] == {"cpu": 8000}
    assert layout.faults["a"] == (
        "spec.guarantee.cpu: got 12, but its parent top has 8, which is used instead",
    )


def test_guarantees_that_add_up_to_too_much_are_cut_in_proportion() -> None:
    layout = build_hierarchy([queue("top", cpu=10), queue("a", "top", 10), queue("b", "top", 10)])
    assert layout.guarantees == {"top": {"cpu": 10}, "a": {"cpu": 5}, "b": {"cpu": 5}}
    assert "its child queues are guaranteed 20m together, but it has 10m" in layout.faults["top"][0]


def test_a_parent_without_a_guarantee_has_the_sum_of_its_queues() -> None:
    layout = build_hierarchy([queue("top"), queue("a", "top", 4), queue("b", "top", 3)])
    assert layout.guarantees["top"] == {"cpu": 7}


def test_a_guarantee_above_a_limit_is_cut_to_it_its_own_or_the_parents() -> None:
    layout = build_hierarchy([queue("top", limit=6), queue("a", "top", 9, limit=8)])
    assert layout.guarantees["a"] == {"cpu": 6}
    assert len(layout.faults["a"]) == 2


def test_the_root_is_part_of_nothing() -> None:
    layout = build_hierarchy([queue("root", "a"), queue("a")])
    assert layout.parents == {"a": "root"}
    assert "expected none: root is the top of the tree" in layout.faults["root"][0]


def test_a_tree_of_a_hundred_levels_is_cut_and_names_the_cut() -> None:
    layout = build_hierarchy([queue("q0"), *(queue(f"q{i}", f"q{i - 1}") for i in range(1, 100))])
    assert len(layout.parents) == 100
    assert "32 levels deep" in layout.faults["q99"][0]
