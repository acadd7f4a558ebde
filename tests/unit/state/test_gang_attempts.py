"""The attempts of gangs with members of different sizes, and the search behind them."""

import numpy as np

from stretto.state.queries.gang_attempts import attempts, is_mixed, kinds_of, orders_of
from stretto.state.queries.packing import PackingProblem, pack


def arrays(*rows: tuple[int, ...]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.array(rows, np.int64)


def test_the_scarcest_kind_is_first_and_the_submitted_order_second() -> None:
    kinds = kinds_of([7, 9, 7])
    orders = list(orders_of(kinds, arrays((1, 8), (6, 1)), arrays((10, 100), (2, 20))))
    assert orders[0] == [1, 0, 2]
    assert orders[1] == [0, 1, 2]
    assert len(orders) == len({tuple(order) for order in orders})


def test_every_order_of_four_kinds_is_among_the_attempts() -> None:
    kinds = kinds_of([0, 1, 2, 3])
    orders = {tuple(o) for o in orders_of(kinds, np.ones((4, 1), np.int64), arrays((9,)))}
    assert len(orders) == 24


def test_equal_classes_are_uniform() -> None:
    assert not is_mixed([3, 3, 3])
    assert not is_mixed([3])
    assert is_mixed([3, 4])


def test_a_proof_ends_the_attempts_unless_other_rules_decide() -> None:
    need, free = arrays((5,), (4,)), arrays((8,))
    kinds = kinds_of([1, 2])
    eligible = np.ones((2, 1), np.bool_)
    problems = [PackingProblem(free, need, eligible, kinds.counts)]
    assert len(list(attempts(kinds, 2, lambda: problems, (need, free)))) == 1
    open_ended = attempts(kinds, 2, lambda: problems, (need, free), is_exact=False)
    assert [each.order for each in open_ended] == [[0, 1], [1, 0]]
    assert len(list(attempts(kinds, 2, list, (need, free)))) == 2


def test_an_assignment_names_the_node_of_each_member() -> None:
    need, free = arrays((3,), (2,)), arrays((5,), (4,))
    kinds = kinds_of([0, 1, 1, 0])  # 3 + 2 on the first node, 2 on the second with ... 3: no
    eligible = np.ones((2, 2), np.bool_)
    problem = PackingProblem(free, need, eligible, kinds.counts)
    assert pack(problem, 4).nodes is None
    found = [each for each in attempts(kinds, 3, lambda: [problem], (need, free)) if each.nodes]
    assert len(found) == 1
    assert sorted(found[0].order) == [0, 1, 2, 3]
    assert found[0].nodes.count(-1) == 1


def test_the_search_stops_at_its_limit_without_a_claim() -> None:
    """Two nodes of 7 and 9 hold 3, 3 and 5, 4 only with backtracking."""
    sizes, free = (5, 4, 3), arrays((12,), (9,), (8,))
    need = arrays(*[(size,) for size in sizes])
    problem = PackingProblem(free, need, np.ones((3, 3), np.bool_), (2, 2, 3))
    whole = pack(problem, 7)
    cut = pack(problem, 7, steps=-7)
    assert whole.is_proven
    assert cut == (None, False)


def test_nodes_that_a_kind_may_not_use_are_left_out() -> None:
    eligible = np.array([[True, False], [True, True]])
    problem = PackingProblem(arrays((4,), (4,)), arrays((3,), (2,)), eligible, (1, 1))
    assert pack(problem, 2).nodes == ((0,), (1,))
    alone = PackingProblem(arrays((4,), (4,)), arrays((3,), (2,)), eligible & [True, False], (1, 1))
    assert pack(alone, 2) == (None, True)


def test_members_without_requests_need_an_eligible_node() -> None:
    none = np.zeros((1, 1), np.int64)
    assert pack(PackingProblem(none, none, np.ones((1, 1), np.bool_), (3,)), 3).nodes == ((0,) * 3,)
    assert pack(PackingProblem(none, none, np.zeros((1, 1), np.bool_), (3,)), 3).nodes is None
