"""Deserved amounts in proportion to weights, by water filling.

Each round divides the remaining amounts. A queue gets at most its request and its capability, and
at least its guarantee. The rest is divided in the next round.
"""

from collections.abc import Iterable, Mapping

from stretto.base.amounts import total_of
from stretto.capacity.model.profiles import CapacityProfile
from stretto_lab.models.volcano.accounts import QueueAccount
from stretto_lab.models.volcano.amounts import (
    PODS,
    SLACK,
    Amounts,
    AnyAmounts,
    at_least,
    at_most,
    beyond,
    within,
)
from stretto_lab.models.volcano.states import (
    ShareQueue,
    ShareState,
    largest_part,
    real_capability,
)


def proportional(
    queues: Iterable[ShareQueue],
    accounts: Mapping[str, QueueAccount],
    whole: AnyAmounts,
    profile: CapacityProfile = CapacityProfile.STRETTO,
) -> list[ShareState]:
    """Queues that have jobs, with their deserved amounts.

    Args:
        queues: all queues.
        accounts: accounts of the queues that have jobs.
        whole: amounts of the cluster.
        profile: ``VOLCANO`` raises queues to their guarantees after the division, so that the sum
            may exceed the cluster; otherwise guarantees are assigned before the rest is divided.
    """
    specs = list(queues)
    guaranteed = total_of(each.guarantee for each in specs)
    active = [each for each in specs if each.name in accounts]
    most = {each.name: real_capability(each, whole, guaranteed) for each in active}
    before = profile is not CapacityProfile.VOLCANO
    first = {each.name: dict(each.guarantee) if before else {} for each in active}
    deserved = _fill(active, accounts, whole, most, first)
    return [
        ShareState(
            each,
            accounts[each.name],
            most[each.name],
            deserved[each.name],
            largest_part(accounts[each.name].allocated, deserved[each.name], SLACK),
        )
        for each in active
    ]


def _fill(
    queues: list[ShareQueue],
    accounts: Mapping[str, QueueAccount],
    whole: AnyAmounts,
    most: Mapping[str, Amounts],
    first: Mapping[str, Amounts],
) -> dict[str, Amounts]:
    """Compute the deserved amounts of each queue.

    Args:
        queues: queues with jobs.
        accounts: accounts of the queues.
        whole: amounts of the cluster.
        most: maximum amounts of each queue.
        first: amounts of each queue before the first round.
    """
    deserved = dict(first)
    left = beyond(whole, total_of(first.values()))
    waiting = list(queues)
    while weight := sum(each.weight for each in waiting):
        grown: list[Amounts] = []
        shrunk: list[Amounts] = []
        unmet = []
        for queue in waiting:
            before, request = deserved[queue.name], accounts[queue.name].request
            part = {name: amount * (queue.weight / weight) for name, amount in left.items()}
            offer = at_most(total_of([before, part]), most[queue.name])
            taken = {name: min(amount, request.get(name, 0.0)) for name, amount in offer.items()}
            now = at_least(taken, queue.guarantee)
            deserved[queue.name] = now
            grown.append(beyond(now, before))
            shrunk.append(beyond(before, now))
            if not within(request, now) and _differ(now, before):
                unmet.append(queue)
        waiting, old = unmet, left
        left = beyond(left, total_of(grown))
        back = total_of(shrunk)
        left = {name: amount + back.get(name, 0.0) for name, amount in left.items()}
        is_empty = all(amount < SLACK for name, amount in left.items() if name != PODS)
        if is_empty or not _differ(left, old):
            break
    return deserved


def _differ(one: AnyAmounts, other: AnyAmounts) -> bool:
    """Return whether any amounts differ; a missing amount is 0."""
    return any(one.get(name, 0.0) != other.get(name, 0.0) for name in one.keys() | other.keys())
