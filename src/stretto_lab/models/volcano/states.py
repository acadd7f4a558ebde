"""Queues with their accounts, and the resulting decisions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cmp_to_key
from itertools import takewhile

import msgspec

from stretto.base.amounts import total_of
from stretto_lab.models.volcano.accounts import QueueAccount
from stretto_lab.models.volcano.amounts import (
    CPU,
    MEMORY,
    PODS,
    SLACK,
    UNLIMITED_AT_ZERO,
    Amounts,
    AnyAmounts,
    at_most,
    beyond,
    limits,
    within,
)


class ShareQueue(msgspec.Struct, frozen=True):
    """A queue as described by its object."""

    #: Name of the queue.
    name: str
    #: Weight in the division of the remaining amounts.
    weight: int = 1
    #: Priority: queues with a higher priority are first.
    priority: int = 0
    #: True if the queue accepts no jobs.
    closed: bool = False
    #: Parent in a tree; empty for a child of the root.
    parent: str = ""
    #: Capability: maximum amounts.
    capability: Amounts = {}
    #: Guaranteed amounts.
    guarantee: Amounts = {}
    #: Deserved amounts.
    deserved: Amounts = {}


class ShareState(msgspec.Struct, frozen=True):
    """A queue with its allocated amounts and its limits."""

    #: The queue.
    spec: ShareQueue
    #: Allocated and requested amounts of its jobs.
    account: QueueAccount
    #: Maximum amounts without the guarantees of other queues.
    capability: Amounts
    #: Deserved amounts.
    deserved: Amounts
    #: Largest ratio of an allocated to a deserved amount.
    share: float
    #: Names of the queues on the path to the root, starting with itself.
    path: tuple[str, ...] = ()
    #: True if the queue has child queues.
    is_parent: bool = False

    @property
    def deserves_some(self) -> bool:
        """True if it deserves amounts other than pods."""
        return any(amount > 0 for name, amount in self.deserved.items() if name != PODS)

    @property
    def is_overused(self) -> bool:
        """True if it has allocated the deserved amount of every resource."""
        bound = {CPU: 0.0, MEMORY: 0.0, **self.deserved}
        return within(bound, self.account.allocated)


def real_capability(queue: ShareQueue, whole: AnyAmounts, guaranteed: AnyAmounts) -> Amounts:
    """Maximum amounts of a queue.

    Its capability, and all amounts that are not guaranteed to others.

    Args:
        queue: the queue.
        whole: amounts of the cluster.
        guaranteed: the sum of all guarantees.
    """
    return at_most(remaining(whole, guaranteed, queue.guarantee), limits(queue.capability))


def remaining(whole: AnyAmounts, guaranteed: AnyAmounts, own: AnyAmounts) -> Amounts:
    """Amounts that are not guaranteed to others.

    A resource of which nothing remains is absent, unless it is CPU, memory or guaranteed: Volcano
    does not bound deserved amounts of absent resources, and admits no request for them.

    Args:
        whole: amounts of the cluster, or of the parent of a queue.
        guaranteed: the sum of the guarantees of the queue and its siblings.
        own: guarantee of the queue.
    """
    free = beyond(whole, guaranteed)
    kept = {name: n for name, n in free.items() if n or name in UNLIMITED_AT_ZERO}
    return total_of([kept, own])


def largest_part(held: AnyAmounts, deserved: AnyAmounts, least: float = 0.0) -> float:
    """Largest ratio of an allocated to a deserved amount; amounts up to ``least`` do not count."""
    parts = [held.get(name, 0.0) / n for name, n in deserved.items() if n > least]
    return max(parts, default=0.0)


def by_share(state: ShareState) -> tuple[float, ...]:
    """Sort key: the smaller share first."""
    return (state.share,)


def by_share_deserving(state: ShareState) -> tuple[float, ...]:
    """Sort key: the smaller share first.

    Of equal shares, a queue that deserves other amounts than pods.
    """
    return state.share, not state.deserves_some


def ordered(
    states: Iterable[ShareState], rank: Callable[[ShareState], tuple[float, ...]] = by_share
) -> list[ShareState]:
    """Sort queues in the order in which they are served.

    The order is by priority. Queues without children are before others; two of them are compared by
    their branches of the tree. The next criteria are the smaller rank and the name.
    """
    by_name = {each.spec.name: each for each in states}

    def compare(one: ShareState, other: ShareState) -> int:
        here, there = (-one.spec.priority, one.is_parent), (-other.spec.priority, other.is_parent)
        if here != there:
            return -1 if here < there else 1
        first, second = _branches(one, other, by_name)
        mine, theirs = rank(first), rank(second)
        if mine != theirs:
            return -1 if mine < theirs else 1
        return -1 if one.spec.name < other.spec.name else 1

    return sorted(by_name.values(), key=cmp_to_key(compare))


def _branches(
    one: ShareState, other: ShareState, by_name: Mapping[str, ShareState]
) -> tuple[ShareState, ShareState]:
    """Ancestors of two queues just below their lowest common one.

    Parents are returned unchanged. Queues without a common ancestor, which a cycle separates from
    the root, are compared like children of the same root.
    """
    if one.is_parent or not one.path or not other.path:
        return one, other
    here, there = one.path[:0:-1], other.path[:0:-1]
    pairs = zip(here, there, strict=False)
    level = max(1, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))
    mine = by_name[here[level]] if level < len(here) else one
    return mine, by_name[there[level]] if level < len(there) else other


def admits(state: ShareState, ancestors: Sequence[ShareState], requests: AnyAmounts) -> bool:
    """Return whether a task fits within the capability of a queue and its ancestors."""
    if state.spec.closed or state.is_parent:
        return False
    return all(_fits(each, each.capability, requests) for each in (state, *ancestors))


def may_reclaim(state: ShareState, requests: AnyAmounts) -> bool:
    """Return whether a queue may reclaim amounts for a task: it deserves some of them."""
    if state.spec.closed or not _fits(state, state.capability, requests):
        return False
    return any(
        _fits(state, state.deserved, {name: amount})
        for name, amount in requests.items()
        if amount > 0
    )


def within_deserved(state: ShareState, requests: AnyAmounts) -> bool:
    """Return whether a task fits within the deserved amounts of a queue."""
    return not state.spec.closed and _fits(state, state.deserved, requests)


def admit_jobs(
    states: Mapping[str, ShareState], wanted: Iterable[tuple[str, AnyAmounts]]
) -> list[bool | None]:
    """Return whether jobs may start, in order; each accepted job counts for the later ones.

    Args:
        states: queues by name.
        wanted: the queue of each job, and the amounts that the job needs to start (may be empty).

    Returns:
        One result per job; ``None`` for an unknown queue.
    """
    promised = {name: state.account.inqueue for name, state in states.items()}
    answers: list[bool | None] = []
    for queue, needs in wanted:
        state = states.get(queue)
        if state is None:
            answers.append(None)
            continue
        line = [states[name] for name in state.path or (queue,)]
        is_open = not (state.spec.closed or state.is_parent)
        fits = is_open and all(_starts(each, needs, promised) for each in line)
        answers.append(fits)
        if fits:
            promised |= {
                each.spec.name: total_of([promised[each.spec.name], needs]) for each in line
            }
    return answers


def _starts(state: ShareState, needs: AnyAmounts, promised: Mapping[str, AnyAmounts]) -> bool:
    """Return whether a job fits in addition to a queue's allocated and promised amounts."""
    account, extra = state.account, promised[state.spec.name]
    return all(
        amount
        + account.allocated.get(name, 0.0)
        + extra.get(name, 0.0)
        - account.elastic.get(name, 0.0)
        <= state.capability.get(name, 0.0) + SLACK
        for name, amount in needs.items()
        if amount > 0
    )


def _fits(state: ShareState, bound: AnyAmounts, requests: AnyAmounts) -> bool:
    held = state.account.allocated
    return within(
        {name: held.get(name, 0.0) + amount for name, amount in requests.items() if amount > 0},
        bound,
    )
