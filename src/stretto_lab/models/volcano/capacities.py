"""Deserved amounts as configured: of flat queues, and of a tree."""

from collections.abc import Iterable, Mapping
from math import inf
from typing import Final, NamedTuple

import msgspec

from stretto.base.amounts import total_of
from stretto_lab.models.volcano.accounts import QueueAccount, merge
from stretto_lab.models.volcano.amounts import (
    CPU,
    MEMORY,
    PODS,
    SLACK,
    Amounts,
    AnyAmounts,
    at_least,
    at_most,
    limits,
)
from stretto_lab.models.volcano.states import (
    ShareQueue,
    ShareState,
    largest_part,
    real_capability,
    remaining,
)

ROOT: Final = "root"
"""Name of the root queue."""
NO_SHARE: Final = 1.0
"""Share of a queue that deserves only pods.

It is served after queues that hold less than they deserve.
"""


class QueueTreeError(ValueError):
    """Error: the queues have no root, a parent is unknown, or a job is in a queue with children.

    The message names the queue.
    """


def flat(
    queues: Iterable[ShareQueue], accounts: Mapping[str, QueueAccount], whole: AnyAmounts
) -> list[ShareState]:
    """Queues that have jobs, with their deserved amounts and capability."""
    specs = list(queues)
    guaranteed = total_of(each.guarantee for each in specs)
    states = []
    for queue in specs:
        if queue.name not in accounts:
            continue
        most = real_capability(queue, whole, guaranteed)
        deserved = at_least(at_most(queue.deserved, most), queue.guarantee)
        states.append(_state(queue, accounts[queue.name], most, deserved))
    return states


def tree(
    queues: Iterable[ShareQueue], accounts: Mapping[str, QueueAccount], whole: AnyAmounts
) -> list[ShareState]:
    """All queues of a tree; the amounts of a parent are the sums of its children.

    A queue that is its own ancestor, or below such a queue, has no capability.

    Args:
        queues: all queues; a queue without a parent is a child of the root.
        accounts: accounts of the queues that have jobs.
        whole: amounts of the cluster; a root without a capability limits none of them.

    Raises:
        QueueTreeError: there is no root, a parent is unknown, or a parent has jobs.
    """
    specs = {each.name: each for each in queues}
    paths, children = paths_to_root(specs), _children(specs, accounts)
    most = _limits(specs, children, whole)
    states = []
    for name, queue in specs.items():
        below = merge(
            found for leaf, found in accounts.items() for _ in range(paths.known[leaf].count(name))
        )
        deserved = queue.deserved
        if name == ROOT:
            direct = [specs[child] for child in children[ROOT]]
            deserved = total_of(at_least(each.deserved, each.guarantee) for each in direct)
        elif name in most:
            deserved = at_least(deserved, queue.guarantee)
        state = _state(queue, below, most.get(name, {}), deserved)
        place = {"path": paths.known[name], "is_parent": bool(children[name])}
        states.append(msgspec.structs.replace(state, **place))
    return states


class QueuePaths(NamedTuple):
    """The queues on the way from each queue to the root."""

    #: Names by queue, starting with the queue. A cycle ends where it began, not at the root.
    known: dict[str, tuple[str, ...]]
    #: The unknown parent at which reading ended; empty if every parent is known.
    unknown: str


def paths_to_root(specs: Mapping[str, ShareQueue]) -> QueuePaths:
    """Read the parents of queues like Volcano, in the order of names, up to an unknown parent."""
    known: dict[str, tuple[str, ...]] = {}
    for start in sorted(specs):
        line, name = [], start
        while name not in known:
            known[name] = (name,)
            if name == ROOT:
                break
            line.append(name)
            name = specs[name].parent or ROOT
            if name not in specs:
                return QueuePaths(known, name)
        for each in reversed(line):
            known[each] = (each, *known[specs[each].parent or ROOT])
    return QueuePaths(known, "")


def _limits(
    specs: Mapping[str, ShareQueue], children: Mapping[str, list[str]], whole: AnyAmounts
) -> dict[str, Amounts]:
    """Maximum amounts of the root and of each queue below it."""
    top = _top(specs[ROOT].capability, whole)
    most, caps = {ROOT: top}, {ROOT: top}
    for parent in _down(children):
        guaranteed = total_of(specs[name].guarantee for name in children[parent])
        for name in children[parent]:
            own = specs[name]
            caps[name] = {**caps[parent], **limits(own.capability)}
            most[name] = at_most(remaining(most[parent], guaranteed, own.guarantee), caps[name])
    return most


def _top(capability: AnyAmounts, whole: AnyAmounts) -> Amounts:
    """Maximum amounts of the root: its capability as it is, or no limits if it has none."""
    if any(amount >= SLACK for name, amount in capability.items() if name != PODS):
        return {CPU: 0.0, MEMORY: 0.0, **capability}
    return dict.fromkeys((CPU, MEMORY, *whole), inf)


def _state(
    queue: ShareQueue,
    account: QueueAccount,
    most: Amounts,
    deserved: Amounts,
) -> ShareState:
    some = any(amount > 0 for name, amount in deserved.items() if name != PODS)
    share = largest_part(account.allocated, deserved) if some else NO_SHARE
    return ShareState(queue, account, most, deserved, share)


def _children(
    specs: Mapping[str, ShareQueue], accounts: Mapping[str, QueueAccount]
) -> dict[str, list[str]]:
    """Children of every queue.

    Raises:
        QueueTreeError: there is no root, a parent is unknown, or a parent has jobs.
    """
    if ROOT not in specs:
        raise QueueTreeError(f"there is no queue {ROOT}")
    children: dict[str, list[str]] = {name: [] for name in specs}
    for name, queue in specs.items():
        if name == ROOT:
            continue
        parent = queue.parent or ROOT
        if parent not in specs:
            raise QueueTreeError(f"queue {name} has the unknown parent {parent}")
        children[parent].append(name)
    for name in accounts:
        if children.get(name):
            raise QueueTreeError(f"queue {name} has jobs and children")
    return children


def _down(children: Mapping[str, list[str]]) -> list[str]:
    """Queues from the root on, parents before children."""
    line = [ROOT]
    for name in line:
        line.extend(children[name])
    return line
