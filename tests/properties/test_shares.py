"""The usage of a queue always equals the sum over its live claims."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.state.queues.shares import NOTHING, QueueShares

CLAIMS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.dictionaries(st.integers(0, 3), st.integers(0, 2**40), max_size=3),
        st.integers(1, 5),
    ),
    max_size=20,
)


@given(CLAIMS, st.randoms(use_true_random=False))
def test_usage_is_the_sum_over_live_claims(claims, chance) -> None:
    shares, live = QueueShares(), list(claims)
    for queue, amounts, pods in claims:
        shares.charge(queue, amounts.items(), pods)
    for claim in chance.sample(claims, len(claims) // 2):
        live.remove(claim)
        shares.refund(claim[0], claim[1].items(), claim[2])
    for queue in "ab":
        total: Counter[int] = Counter()
        for _, amounts, pods in (claim for claim in live if claim[0] == queue):
            total.update({column: amount * pods for column, amount in amounts.items()})
        assert shares.usage(queue) == {column: held for column, held in total.items() if held}
        assert shares.pods(queue) == sum(pods for name, _, pods in live if name == queue)


@given(CLAIMS)
def test_giving_everything_back_leaves_nothing(claims) -> None:
    shares = QueueShares()
    for queue, amounts, pods in claims:
        shares.charge(queue, amounts.items(), pods)
    for queue, amounts, pods in reversed(claims):
        shares.refund(queue, amounts.items(), pods)
    assert [shares.usage(queue) for queue in shares.queues()] == [{}] * len(shares.queues())
    assert all(shares.dominant(queue, dict.fromkeys(range(4), 10)) == NOTHING for queue in "ab")


def test_the_dominant_share_is_the_largest_part_of_any_resource() -> None:
    shares = QueueShares()
    shares.charge("a", [(0, 1), (1, 4)], pods=3)
    assert shares.dominant("a", {0: 9, 1: 18}) == (12 / 18, 1)


def test_of_equal_parts_the_first_resource_is_dominant() -> None:
    shares = QueueShares()
    shares.charge("a", [(1, 5), (0, 5)])
    assert shares.dominant("a", {0: 10, 1: 10}) == (0.5, 0)


def test_a_resource_that_the_cluster_does_not_have_does_not_count() -> None:
    shares = QueueShares()
    shares.charge("a", [(0, 1), (1, 5), (7, 9)])
    assert shares.dominant("a", {0: 10, 1: 0}) == (0.1, 0)


def test_more_than_was_charged_cannot_be_given_back() -> None:
    shares = QueueShares()
    shares.charge("a", [(0, 5)])
    with pytest.raises(ValueError, match="queue a: the refund exceeds the charges"):
        shares.refund("a", [(0, 6)])
    assert (shares.used("a", 0), shares.pods("a")) == (5, 1)
