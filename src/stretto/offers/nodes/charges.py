"""The shared ledger: holdings of frameworks are claims on nodes, and pods count for roles.

In one direction, the capacity that offers and tasks hold on a node, without the pods of these
tasks, is one claim in the cluster's ledger, and counts for the queues of their roles. In the other
direction, what pods leave free on a node is the total of its agent, and what the pods of a queue
use counts for the quota of its role. Both sides are brought up to date in one step of one thread,
so no capacity is promised twice.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from stretto.offers.allocator.contract import OfferAllocator
from stretto.offers.nodes.amounts import columns_of, milli_of
from stretto.offers.nodes.queues import queue_of
from stretto.state.cluster.cluster import Cluster
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.resources import PODS

Columns = dict[int, int]
"""Exact amounts by column of the ledger."""


class TaskRow(NamedTuple):
    """A pod of tasks that the ledger charges."""

    #: Its row.
    row: int
    #: The queue of its role.
    queue: str


class ClaimedNode(NamedTuple):
    """A node whose capacity is offered."""

    #: Its slot.
    slot: int
    #: Its agent.
    agent_id: str
    #: What tasks whose pods have ended hold until the framework knows it, in thousandths by role:
    #: the capacity is free.
    ended: Mapping[str, Mapping[str, int]] = {}


class NodeBalance(NamedTuple):
    """What frameworks have of one node."""

    #: What they hold and what is free beside it, in thousandths by offered name, without what is
    #: reserved and not held.
    total: Mapping[str, int]
    #: Whether pods and frameworks together have more than the node has.
    is_over: bool


class SharedLedger:
    """Claims of frameworks in the cluster, and use by pods in the allocator."""

    def __init__(
        self,
        cluster: Cluster,
        allocator: OfferAllocator,
        usage: Callable[[], QueueUsage | None],
    ) -> None:
        """Join a cluster and an allocator.

        Args:
            cluster: the ledger of pods.
            allocator: the ledger of offers and tasks.
            usage: the usage of queues; ``None`` while no queue needs it.
        """
        #: The role of each queue, by name.
        self.roles: Mapping[str, str] = {}
        self._cluster = cluster
        self._allocator = allocator
        self._usage = usage
        self._by_slot: dict[int, dict[str, Columns]] = {}
        self._tasks: dict[int, dict[str, Columns]] = {}
        self._outside: dict[str, Mapping[str, int]] = {}

    def queue_of(self, role: str) -> str:
        """The queue that a role charges."""
        return queue_of(role, self.roles)

    def set_roles(self, roles: Mapping[str, str]) -> None:
        """Replace the roles of queues; every node must be claimed again."""
        self.roles = roles

    # ------------------------------------------------------------ frameworks to pods

    def claim(
        self, node: ClaimedNode, tasks: Iterable[TaskRow], reserved: Mapping[str, int]
    ) -> bool:
        """Claim what frameworks hold on a node; whether the claim shrank.

        Args:
            node: the node.
            tasks: the pods of tasks that the ledger charges there.
            reserved: thousandths that are reserved for roles and held by no framework.
        """
        resources, slot = self._cluster.ledger.resources, node.slot
        held: dict[str, Columns] = {}
        for holding, kept in self._allocator.holdings(node.agent_id).items():
            queue = self.queue_of(holding.role)
            _add(held.setdefault(queue, {}), columns_of(kept.quantities, resources))
        charged: dict[str, Columns] = {}
        for each in tasks:
            _add(charged.setdefault(each.queue, {}), self._requests(each.row))
        self._tasks[slot] = charged
        rest = {queue: _minus(held[queue], charged.get(queue, {})) for queue in held}
        for role, milli in node.ended.items():
            queue = self.queue_of(role)
            rest[queue] = _minus(rest.get(queue, {}), columns_of(milli.items(), resources))
        self._by_slot[slot] = {queue: amounts for queue, amounts in rest.items() if amounts}
        total = columns_of(reserved.items(), resources)
        for amounts in rest.values():
            _add(total, amounts)
        return self._cluster.offers.replace(slot, total)

    def release(self, slot: int) -> None:
        """Release the claim of a node whose agent has gone."""
        self._by_slot.pop(slot, None)
        self._tasks.pop(slot, None)
        self._cluster.offers.replace(slot, {})

    def charge_queues(self) -> None:
        """Count the claims of all nodes for their queues."""
        usage = self._usage()
        if usage is None:
            return
        sums: dict[str, Columns] = {}
        for by_queue in self._by_slot.values():
            for queue, amounts in by_queue.items():
                _add(sums.setdefault(queue, {}), amounts)
        for queue in {*sums, *usage.offered}:
            offered = tuple(sorted(sums.get(queue, {}).items()))
            if usage.offered.get(queue, ()) != offered:
                usage.offer(queue, offered)

    # ------------------------------------------------------------ pods to frameworks

    def balance(self, node: ClaimedNode, is_offered: bool) -> NodeBalance:
        """What frameworks have of a node after its claim.

        Args:
            node: the node.
            is_offered: whether free capacity of the node may be offered.
        """
        ledger, slot = self._cluster.ledger, node.slot
        ledger.widen()
        free = (ledger.alloc[slot] - ledger.used[slot]).tolist()
        has_pod_slot = free[PODS] > 0 or bool(self._cluster.offers.of(slot))
        held: dict[str, int] = {}
        for amounts in self._allocator.holdings(node.agent_id).values():
            for name, milli in amounts.quantities:
                held[name] = held.get(name, 0) + milli
        more = milli_of(dict(enumerate(free)), ledger.resources)
        usable = is_offered and has_pod_slot
        total = {
            name: held.get(name, 0) + (max(amount, 0) if usable else 0)
            for name, amount in more.items()
        }
        return NodeBalance(total, any(amount < 0 for amount in more.values()))

    def count_pods(self) -> None:
        """Count what the pods of queues use for the quota of their roles."""
        usage, resources = self._usage(), self._cluster.ledger.resources
        if usage is None:
            return
        tasks: dict[str, Columns] = {}
        for by_queue in self._tasks.values():
            for queue, amounts in by_queue.items():
                _add(tasks.setdefault(queue, {}), amounts)
        for queue, role in self.roles.items():
            used = dict(usage.claims.usage(queue))
            _add(used, usage.promises.usage(queue))
            rest = milli_of(_minus(used, tasks.get(queue, {})), resources)
            before = self._outside.get(role, {})
            change = {name: rest.get(name, 0) - before.get(name, 0) for name in {*rest, *before}}
            if any(change.values()):
                self._allocator.add_outside(role, change)
                self._outside[role] = rest

    def _requests(self, row: int) -> Columns:
        class_id = int(self._cluster.pods.class_id[row])
        return dict(self._cluster.classes[class_id].requests)


def _add(total: Columns, more: Mapping[int, int]) -> None:
    for column, amount in more.items():
        total[column] = total.get(column, 0) + amount


def _minus(amounts: Mapping[int, int], less: Mapping[int, int]) -> Columns:
    """The positive differences."""
    rest = {column: amount - less.get(column, 0) for column, amount in amounts.items()}
    return {column: amount for column, amount in rest.items() if amount > 0}
