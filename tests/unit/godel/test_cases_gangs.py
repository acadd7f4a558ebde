"""Gödel's end-to-end cases about scheduling units (case 40), through a whole plane."""

import pytest

from stretto.testing import Harness, make_node, make_pod

#: The first of these tests compiles the kernels if they are not compiled yet.
pytestmark = pytest.mark.timeout(240)


def gang(name: str, count: int, cpu: str = "1") -> list[bytes]:
    return [make_pod(f"{name}-{i}", cpu=cpu, group=name) for i in range(count)]


def placed(harness: Harness) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, node in harness.placements().items():
        found[name[0]] = found.get(name[0], 0) + bool(node)
    assert harness.breaches() == []
    return found


def test_case_40_a_group_made_after_its_pods_lets_them_run() -> None:
    harness = Harness([make_node("n", cpu="4")])
    harness.submit(*gang("a", 3))
    harness.settle()
    assert placed(harness) == {"a": 0}
    harness.group("a", 3)
    harness.settle()
    assert placed(harness) == {"a": 3}


def test_case_40_pods_above_the_minimum_run_as_capacity_allows_and_later() -> None:
    harness = Harness([make_node("n", cpu="3")])
    harness.group("a", 2)
    harness.submit(*gang("a", 5))
    harness.settle()
    assert placed(harness) == {"a": 3}
    harness.create(*_node("m", "9"))
    harness.settle()
    assert placed(harness) == {"a": 5}


def test_case_40_the_minimum_may_be_reached_by_preemption() -> None:
    harness = Harness([make_node("n", cpu="4")])
    harness.submit(*(make_pod(f"l-{i}", cpu="1", priority=1) for i in range(4)))
    harness.settle()
    harness.group("a", 3)
    harness.submit(*(make_pod(f"a-{i}", cpu="1", group="a", priority=9) for i in range(3)))
    harness.settle(30)
    assert placed(harness) == {"a": 3, "l": 1}


def test_case_40_two_gangs_at_once_do_not_lock_one_another_out() -> None:
    harness = Harness([make_node("n", cpu="4")])
    for name in "ab":
        harness.group(name, 3)
    harness.submit(*(pod for pair in zip(gang("a", 3), gang("b", 3), strict=True) for pod in pair))
    harness.settle()
    assert sorted(placed(harness).values()) == [0, 3]


@pytest.mark.parametrize("shards", [1, 3])
def test_case_40_large_gangs_at_once_all_run_in_the_end_and_hold_nothing_while_they_wait(
    shards: int,
) -> None:
    harness = Harness([make_node(f"n{i}", cpu="4") for i in range(8)], config={"shards": shards})
    for name in "abcdef":
        harness.group(name, 20)
    harness.submit(*(make_pod(f"{g}-{i}", cpu="1", group=g) for i in range(20) for g in "abcdef"))
    done: set[str] = set()
    while len(done) < 6:
        harness.settle(2)
        runs = placed(harness)
        assert set(runs.values()) <= {0, 20}
        finished = [name for name, count in runs.items() if count]
        assert len(finished) == 1
        done.add(finished[0])
        for i in range(20):
            harness.delete(f"{finished[0]}-{i}")
        if len(done) < 6:
            assert harness.placements()


def test_a_gang_of_several_templates_starts_as_one() -> None:
    harness = Harness([make_node("n", cpu="4"), make_node("gpu", cpu="2", gpus=2)])
    harness.group("a", 4)
    workers = [make_pod(f"a-w{i}", cpu="500m", gpus=1, group="a") for i in range(2)]
    harness.submit(*workers, *gang("a", 1, cpu="3"))
    harness.settle()
    assert placed(harness) == {"a": 0}
    harness.submit(make_pod("a-last", cpu="1", group="a"))
    harness.settle()
    assert placed(harness) == {"a": 4}


def _node(name: str, cpu: str) -> tuple[object, bytes]:
    from stretto.api.wire.kinds import NODE

    return NODE, make_node(name, cpu=cpu)
