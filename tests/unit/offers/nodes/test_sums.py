"""Shares of frameworks in queues are summed as nodes change, not over all nodes."""

from collections import Counter

import pytest

from stretto.base.rng import Rng
from stretto.offers.nodes.charges import QueueSums


@pytest.mark.parametrize("seed", range(5))
def test_the_sums_are_those_of_all_nodes(seed: int) -> None:
    rng, sums, nodes = Rng(seed), QueueSums(), dict[str, dict[str, dict[int, int]]]()
    for _ in range(200):
        node = f"n{rng.randint(0, 5)}"
        nodes[node] = {
            queue: {rng.randint(0, 2): rng.randint(1, 9)}
            for queue in ("a", "b", "c")
            if rng.random() < 0.5
        }
        sums.replace(node, nodes[node])
        assert sums.sums == recounted(nodes)


def recounted(nodes: dict[str, dict[str, dict[int, int]]]) -> dict[str, dict[int, int]]:
    found: dict[str, Counter[int]] = {}
    for amounts in nodes.values():
        for queue, columns in amounts.items():
            found.setdefault(queue, Counter()).update(columns)
    return {queue: dict(columns) for queue, columns in found.items()}
