"""Reclaim for gangs whose rules restrict their nodes: exactly the pods that have to end, once."""

import pytest

from tests.support.gang_reclaim import RULES, full_cluster, submit_gang
from tests.support.recreating_harness import RecreatingHarness

#: The first of these tests compiles the kernels if they are not compiled yet.
pytestmark = pytest.mark.timeout(240)


@pytest.mark.parametrize("restart", [False, True], ids=["", "restart"])
@pytest.mark.parametrize("rule", RULES)
def test_a_gang_evicts_what_it_needs_and_starts(rule: str, restart: bool) -> None:
    harness = full_cluster()
    submit_gang(harness, rule)
    harness.run(3)  # the victims terminate
    if restart:
        harness.restart()
    harness.run(200)
    assert (harness.placed_of("g"), harness.ended) == (4, {"b": 8})


def first_of_each_node(harness: RecreatingHarness) -> list[int]:
    """Numbers of four pods of the borrowing queue, one on each node."""
    found: dict[str, int] = {}
    for number in range(16):
        found.setdefault(harness.node_of(f"b-{number}-1"), number)
    assert len(found) == 4
    return list(found.values())


@pytest.mark.parametrize("restart", [False, True], ids=["", "restart"])
@pytest.mark.parametrize("rule", RULES)
def test_pods_that_terminate_already_count(rule: str, restart: bool) -> None:
    harness = full_cluster()
    for number in first_of_each_node(harness):
        harness.evict("b", number)
    harness.run(1)
    submit_gang(harness, rule)
    harness.run(2)
    if restart:
        harness.restart()
    harness.run(200)
    in_vain = 2 if "rack" in rule else 0  # those that terminate in the other rack
    assert (harness.placed_of("g"), harness.ended) == (4, {"b": 8 + in_vain})
