"""The sequence of attempts to place a gang with members of different sizes.

Placement, gang preemption, reclaim and explanations use the same sequence: first the members in the
order of scarcity, then an assignment found by an exact search over amounts, then other orders.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, permutations
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.state.cluster.cluster import Cluster
from stretto.state.queries.packing import PackingProblem, pack, scarcity
from stretto.state.rows.devices import WHOLE
from stretto.state.rows.resources import PODS, SCAN_LIMIT

ORDERS: Final = 24
"""Maximum number of orders of kinds: every order of up to four kinds."""


class Attempt(NamedTuple):
    """One attempt to place a gang."""

    #: Index of each member, in the order of placement.
    order: list[int]
    #: Node of each member in this order, -1 for any; empty without an assignment.
    nodes: list[int]


class GangKinds(NamedTuple):
    """The members of a gang by kind."""

    #: int64[kind]: ids that distinguish the kinds, such as class ids, in the order of submission.
    ids: npt.NDArray[np.int64]
    #: Indices of the members, by kind.
    members: tuple[tuple[int, ...], ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of members of each kind."""
        return tuple(len(each) for each in self.members)


def kinds_of(class_ids: Sequence[int] | npt.NDArray[np.int32]) -> GangKinds:
    """The kinds of a gang, from the class of each member."""
    members: dict[int, list[int]] = {}
    for i, class_id in enumerate(np.asarray(class_ids).tolist()):
        members.setdefault(class_id, []).append(i)
    ids = np.array(list(members), np.int64)
    return GangKinds(ids, tuple(tuple(each) for each in members.values()))


def is_mixed(class_ids: Sequence[int] | npt.NDArray[np.int32]) -> bool:
    """Return whether members of a gang belong to different classes."""
    ids = np.asarray(class_ids)
    return len(ids) > 1 and bool((ids != ids[0]).any())


class NodeAmounts(NamedTuple):
    """Free amounts of some nodes, in scan steps."""

    #: int32[resource, node]: free amounts.
    free: npt.NDArray[np.int32]
    #: int32[node, device]: free milli of each device.
    device_free: npt.NDArray[np.int32]
    #: uint8[node, device]: kind number of each device; 0 for none.
    device_kind: npt.NDArray[np.uint8]


def gang_amounts(
    cluster: Cluster, ids: npt.NDArray[np.int64], nodes: NodeAmounts
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(int64[kind, column], int64[node, column]): amounts of one member, and free amounts.

    Devices add two columns per kind: whole free devices, and free milli. For parts of devices,
    these columns are a necessary but not a sufficient condition.
    """
    width, classes = len(nodes.free), cluster.classes
    kinds = sorted({each.kind for c in ids.tolist() for each in classes[c].devices})
    column_of = {kind: width + 2 * i for i, kind in enumerate(kinds)}
    need = np.zeros((len(ids), width + 2 * len(kinds)), np.int64)
    free = np.zeros((nodes.free.shape[1], need.shape[1]), np.int64)
    free[:, :width] = nodes.free.T
    for k, class_id in enumerate(ids.tolist()):
        need[k, PODS] = 1
        for column, amount in classes.scaled_requests(class_id):
            need[k, column] = amount
        for each in classes[class_id].devices:
            column = column_of[each.kind]
            need[k, column] += each.count if each.milli >= WHOLE else 0
            need[k, column + 1] += each.count * each.milli
    for kind, column in column_of.items():
        here = nodes.device_kind == cluster.ledger.devices.kind_number(kind)
        free[:, column] = (here & (nodes.device_free >= WHOLE)).sum(axis=1)
        free[:, column + 1] = np.where(here, np.maximum(nodes.device_free, 0), 0).sum(axis=1)
    return need, free


def idle_amounts(cluster: Cluster) -> NodeAmounts:
    """Amounts of every slot without its pods; 0 for slots without a node."""
    ledger = cluster.ledger
    ledger.widen()
    size, width = ledger.slots.size, len(ledger.resources)
    free = (ledger.alloc[:size, :width] // ledger.resources.step_array()).clip(0, SCAN_LIMIT)
    kinds = ledger.devices.kind[:size]
    whole = np.where(kinds > 0, WHOLE, 0).astype(np.int32)
    live = ledger.slots.live[:size] > 0
    return NodeAmounts(np.where(live, free.T, 0).astype(np.int32), whole, kinds)


def orders_of_rows(cluster: Cluster, rows: Sequence[int]) -> Iterator[list[int]]:
    """Pods of a gang in the orders of the attempts; for a uniform gang, only the given order."""
    ids = cluster.pods.class_id[np.array(rows, np.int64)]
    if not is_mixed(ids):
        yield list(rows)
        return
    kinds = kinds_of(ids)
    for order in orders_of(kinds, *gang_amounts(cluster, kinds.ids, idle_amounts(cluster))):
        yield [rows[i] for i in order]


def orders_of(
    kinds: GangKinds, need: npt.NDArray[np.int64], free: npt.NDArray[np.int64]
) -> Iterator[list[int]]:
    """Orders of the members: the scarcest kind first, as submitted, then other orders of kinds.

    Args:
        kinds: the members by kind.
        need: int64[kind, column], amounts of one member.
        free: int64[node, column], free amounts.
    """
    share = scarcity(need, free)
    count = len(kinds.ids)
    first = sorted(range(count), key=lambda k: (-share[k], k))
    submitted = sorted(i for each in kinds.members for i in each)
    seen: set[tuple[int, ...]] = set()
    for order in (_flat(kinds, first), submitted, *_other_orders(kinds, first)):
        if tuple(order) not in seen:
            seen.add(tuple(order))
            yield order


def attempts(
    kinds: GangKinds,
    at_least: int,
    problem: Callable[[], Sequence[PackingProblem]],
    amounts: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    *,
    is_exact: bool = True,
) -> Iterator[Attempt]:
    """The attempts to place a gang; the caller stops at the first that succeeds.

    Args:
        kinds: the members by kind.
        at_least: number of members that must be placed.
        problem: returns the packing problems, one for each set of nodes that the gang may use;
            empty for a gang whose placement does not depend on amounts alone.
        amounts: (``need``, ``free``) of ``orders_of``.
        is_exact: true if nodes outside ``eligible`` stay ineligible while members are placed; then
            a search without result ends the attempts.
    """
    orders = orders_of(kinds, *amounts)
    yield Attempt(next(orders), [])
    problems = problem()
    proven = len(problems) > 0
    for each in problems:
        found = pack(each, at_least)
        proven = proven and found.is_proven and found.nodes is None
        if found.nodes is not None:
            yield _assigned(kinds, found.nodes)
    if proven and is_exact:
        return
    for order in orders:
        yield Attempt(order, [])


def _assigned(kinds: GangKinds, nodes: Sequence[Sequence[int]]) -> Attempt:
    """An assignment as an attempt; members without a node come last."""
    placed, rest = list[tuple[int, int]](), list[int]()
    for members, here in zip(kinds.members, nodes, strict=True):
        placed += zip(members, here, strict=False)
        rest += members[len(here) :]
    order = [i for i, _ in placed] + rest
    return Attempt(order, [node for _, node in placed] + [-1] * len(rest))


def _other_orders(kinds: GangKinds, first: Sequence[int]) -> Iterator[list[int]]:
    yield _flat(kinds, first[::-1])
    for order in islice(permutations(first), ORDERS):
        yield _flat(kinds, order)


def _flat(kinds: GangKinds, order: Sequence[int]) -> list[int]:
    return [i for kind in order for i in kinds.members[kind]]
