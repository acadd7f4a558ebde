"""The shared ledger: holdings of frameworks are claims on nodes, and pods count for roles.

In one direction, the capacity that offers and tasks hold on a node, without the pods of these
tasks, is one claim in the cluster's ledger, and counts for the queues of their roles. In the other
direction, the capacity without the requests of pods is the total of the node's agent, and the usage
of the pods of a queue counts for the quota of its role. One step of one thread updates both sides,
so no capacity is assigned twice.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from stretto.base.amounts import add_amounts, positive_rest
from stretto.offers.allocator.contract import OfferAllocator
from stretto.offers.allocator.values import ranges
from stretto.offers.nodes.amounts import (
    GPUS,
    PORTS,
    columns_of,
    columns_of_task,
    gpu_column,
    milli_of,
    ports_of,
)
from stretto.offers.nodes.parts import AgentPart
from stretto.offers.nodes.queues import queue_of
from stretto.state.classes.table import GPU, PodClass
from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.offers import NOTHING, OfferClaim
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.devices import WHOLE
from stretto.state.rows.resources import PODS

Columns = dict[int, int]
"""Exact amounts by column of the ledger."""


class TaskRow(NamedTuple):
    """A pod of tasks that the ledger charges."""

    #: Its row.
    row: int
    #: The queue of its role.
    queue: str
    #: Thousandths of the resources of its tasks that have not ended, by offered name.
    held: Mapping[str, int]


class ClaimedNode(NamedTuple):
    """A node whose capacity is offered."""

    #: Its slot.
    slot: int
    #: Its agent.
    agent_id: str
    #: The pods of tasks that the ledger charges there.
    tasks: Sequence[TaskRow] = ()
    #: Amounts of tasks whose pods have ended, without reservations.
    ended: AgentPart = AgentPart()
    #: Unused reservations.
    reserved: AgentPart = AgentPart()


class NodeBalance(NamedTuple):
    """The amounts of one node for frameworks."""

    #: Held and free amounts in thousandths by offered name, without reserved amounts that are not
    #: held.
    total: Mapping[str, int]
    #: Held and free port numbers.
    ports: ranges.Ranges
    #: Offered names of over-committed resources: pods and frameworks use more than the node has.
    short: frozenset[str]


class QueueSums:
    """Amounts of queues on nodes, with their sums over all nodes."""

    def __init__(self) -> None:
        """Start without claims."""
        #: Positive sums by queue and column.
        self.sums: dict[str, Columns] = {}
        self._by_node: dict[str, Mapping[str, Columns]] = {}
        self._changed: set[str] = set()

    def replace(self, node: str, after: Mapping[str, Columns]) -> None:
        """Replace the amounts of a node."""
        for sign, amounts in ((-1, self._by_node.pop(node, {})), (1, after)):
            self._changed.update(amounts)
            for queue, columns in amounts.items():
                total = self.sums.setdefault(queue, {})
                add_amounts(total, columns.items(), sign)
                for column in columns:
                    if not total[column]:
                        del total[column]
                if not total:
                    del self.sums[queue]
        if after:
            self._by_node[node] = after

    def take_changed(self) -> set[str]:
        """Queues whose amounts may have changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed


class SharedLedger:
    """Keeps claims of frameworks in the cluster, and usage by pods in the allocator."""

    def __init__(
        self,
        cluster: Cluster,
        allocator: OfferAllocator,
        usage: Callable[[], QueueUsage | None],
        ports: ranges.Ranges = (),
    ) -> None:
        """Initialize with a cluster and an allocator.

        Args:
            cluster: the ledger of pods.
            allocator: the ledger of offers and tasks.
            usage: returns the usage of queues; ``None`` while no queue needs it.
            ports: numbers of the host ports that every node offers.
        """
        #: The role of each queue, by name.
        self.roles: Mapping[str, str] = {}
        self._cluster = cluster
        self._allocator = allocator
        self._usage = usage
        self._ports = ports
        self._claims = QueueSums()
        self._tasks = QueueSums()
        self._outside: dict[str, Mapping[str, int]] = {}
        self._counted: QueueUsage | None = None

    def queue_of(self, role: str) -> str:
        """The queue that a role charges."""
        return queue_of(role, self.roles)

    def set_roles(self, roles: Mapping[str, str]) -> None:
        """Replace the roles of queues; every node must be claimed again afterwards."""
        self.roles = roles
        self._counted = None

    # ------------------------------------------------------------ frameworks to pods

    def claim(self, node: ClaimedNode) -> bool:
        """Claim the holdings and reservations of frameworks on a node; true if the claim shrank.

        A reservation counts for the queue of its role even if it is unused. Tasks with pods are in
        the ledger as pods; a pod is charged completely until its last task has ended.
        """
        ledger, slot = self._cluster.ledger, node.slot
        name = self._cluster.nodes.names[slot]
        held: dict[str, Columns] = {}
        ports = node.reserved.ports
        for holding, kept in self._allocator.holdings(node.agent_id).items():
            queue = self.queue_of(holding.role)
            add_amounts(held.setdefault(queue, {}), columns_of(kept.quantities, ledger).items())
            ports = ranges.union(ports, ports_of((kind.name, n) for kind, n in kept))
        charged: dict[str, Columns] = {}
        for each in node.tasks:
            task = self._class_of(each.row)
            add_amounts(
                charged.setdefault(each.queue, {}),
                columns_of_task(task, ledger).items(),
            )
            own = columns_of(each.held.items(), ledger)
            held[each.queue] = positive_rest(held.get(each.queue, {}), own)
            used = ranges.normalize((port.port, port.port) for port in task.ports)
            ports = ranges.difference(ports, used)
        self._tasks.replace(name, charged)
        rest = held
        for role, milli in node.ended.scalars.items():
            queue = self.queue_of(role)
            rest[queue] = positive_rest(rest.get(queue, {}), columns_of(milli.items(), ledger))
        for role, milli in node.reserved.scalars.items():
            more = columns_of(milli.items(), ledger)
            add_amounts(rest.setdefault(self.queue_of(role), {}), more.items())
        self._claims.replace(name, rest)
        total: Columns = {}
        for amounts in rest.values():
            add_amounts(total, amounts.items())
        claim = self._claim_of(total, ranges.difference(ports, node.ended.ports))
        return self._cluster.offers.replace(slot, claim)

    def release(self, slot: int) -> None:
        """Release the claim of a node whose agent was removed."""
        self.forget(self._cluster.nodes.names[slot])
        self._cluster.offers.replace(slot, NOTHING)

    def forget(self, name: str) -> None:
        """Drop the amounts of a node that was deleted from the cluster."""
        self._claims.replace(name, {})
        self._tasks.replace(name, {})

    def _claim_of(self, total: Columns, ports: ranges.Ranges) -> OfferClaim:
        """A claim on a node; a part of a device counts as a whole device."""
        gpus = total.pop(gpu_column(self._cluster.ledger), 0)
        amounts = {column: amount for column, amount in total.items() if amount > 0}
        return OfferClaim(amounts, {GPU: -(-gpus // WHOLE)} if gpus > 0 else {}, ports)

    def charge_queues(self) -> None:
        """Charge the claims of all nodes to their queues."""
        usage = self._usage()
        if usage is None:
            return
        sums = self._claims.sums
        for queue in {*sums, *usage.offered}:
            offered = tuple(sorted(sums.get(queue, {}).items()))
            if usage.offered.get(queue, ()) != offered:
                usage.offer(queue, offered)

    # ------------------------------------------------------------ pods to frameworks

    def balance(self, agent_id: str, slot: int, *, is_offered: bool) -> NodeBalance:
        """The amounts of a node for frameworks after its claim.

        Args:
            agent_id: its agent.
            slot: its slot.
            is_offered: true if free capacity of the node may be offered.
        """
        ledger = self._cluster.ledger
        ledger.widen()
        free = dict(enumerate((ledger.alloc[slot] - ledger.used[slot]).tolist()))
        free[gpu_column(ledger)] = self._free_gpus(slot)
        usable = is_offered and (free[PODS] > 0 or bool(self._cluster.offers.of(slot)))
        held: dict[str, int] = {}
        ports: ranges.Ranges = ()
        for resources in self._allocator.holdings(agent_id).values():
            add_amounts(held, resources.quantities)
            ports = ranges.union(ports, ports_of((kind.name, n) for kind, n in resources))
        more = milli_of(free, ledger)
        total = {
            name: held.get(name, 0) + (max(amount, 0) if usable else 0)
            for name, amount in more.items()
        }
        if usable:
            ports = ranges.union(ports, self._free_ports(slot))
        return NodeBalance(total, ports, self._short(slot, more))

    def _short(self, slot: int, free: Mapping[str, int]) -> frozenset[str]:
        """Names of resources that are over-committed on a node."""
        short = {name for name, milli in free.items() if milli < 0}
        if self._cluster.offers.is_short(slot):
            short.add(GPUS)
        if self._cluster.ledger.ports.is_contended(slot):
            short.add(PORTS)
        return frozenset(short)

    def _free_gpus(self, slot: int) -> int:
        """Thousandths of the unused GPUs; negative if one is used twice."""
        devices = self._cluster.ledger.devices
        free = devices.free[slot][devices.kind[slot] == devices.kind_number(GPU)]
        return int(free.min()) if (free < 0).any() else WHOLE * int((free == WHOLE).sum())

    def _free_ports(self, slot: int) -> ranges.Ranges:
        """The unused port numbers among the offered ones."""
        used = self._cluster.ledger.ports.numbers_on(slot, self._ports)
        taken = ranges.normalize((number, number) for number in used)
        return ranges.difference(self._ports, taken)

    def count_pods(self) -> None:
        """Count the usage of the pods of queues for the quota of their roles."""
        usage, ledger = self._usage(), self._cluster.ledger
        if usage is None:
            return
        tasks = self._tasks.sums
        for queue in self._uncounted(usage):
            role = self.roles[queue]
            used = dict(usage.claims.usage(queue))
            add_amounts(used, usage.promises.usage(queue).items())
            rest = milli_of(positive_rest(used, tasks.get(queue, {})), ledger)
            before = self._outside.get(role, {})
            change = {name: rest.get(name, 0) - before.get(name, 0) for name in {*rest, *before}}
            if any(change.values()):
                self._allocator.add_outside(role, change)
                self._outside[role] = rest

    def _uncounted(self, usage: QueueUsage) -> Iterable[str]:
        """Queues with roles whose usage has changed since the last count."""
        shares = (self._tasks, usage.claims, usage.promises)
        changed = set[str]().union(*(each.take_changed() for each in shares))
        is_known, self._counted = self._counted is usage, usage
        return sorted(changed & self.roles.keys()) if is_known else self.roles

    def _class_of(self, row: int) -> PodClass:
        return self._cluster.classes[int(self._cluster.pods.class_id[row])]
