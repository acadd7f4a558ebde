"""Claims on nodes and totals of agents, updated for changed nodes."""

from collections.abc import Iterable
from math import inf
from typing import Final

from stretto.base.amounts import add_amounts
from stretto.offers.master.core import offering, subjects
from stretto.offers.master.state.agents import Agent
from stretto.offers.nodes import agents
from stretto.offers.nodes.charges import ClaimedNode, NodeBalance, SharedLedger, TaskRow
from stretto.offers.nodes.parts import ended_tasks, offers_with, total_of, unheld_reservations
from stretto.offers.nodes.registration import NodeAgents
from stretto.offers.nodes.tasks import TaskPods
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.resources import PODS
from stretto.state.work.units import Cure

SPARED: Final = 5.0
"""Seconds for which capacity of rescinded offers is reserved for the pod that needs it."""


class NodeTotals:
    """Claims the holdings of agents on their nodes, and sets the totals of agents."""

    def __init__(
        self, nodes: NodeAgents, tasks: TaskPods, shared: SharedLedger, cluster: Cluster
    ) -> None:
        """Initialize with the agents of nodes and the ledger of a cluster."""
        self._nodes = nodes
        self._master = nodes.master
        self._tasks = tasks
        self._shared = shared
        self._cluster = cluster
        self._stale: set[str] = set()
        self._spared: dict[str, float] = {}
        self._position = -1

    def note(self, names: Iterable[str]) -> None:
        """Record a change of these nodes."""
        self._stale.update(names)

    def note_all(self) -> None:
        """Mark every node to be claimed again."""
        self._position = -1

    def spare(self, names: Iterable[str]) -> None:
        """Reserve the free capacity of these nodes for pods for some seconds."""
        self._spared |= dict.fromkeys(names, self._master.now + SPARED)
        self._stale.update(self._spared)

    @property
    def spared(self) -> frozenset[str]:
        """Nodes whose free capacity is reserved for pods."""
        return frozenset(self._spared)

    @property
    def next_due(self) -> float:
        """Time at which the next spared node is offered again; infinity for none."""
        return min(self._spared.values(), default=inf)

    def settle(self) -> None:
        """Update the claims and totals of all changed nodes."""
        for name in [n for n, until in self._spared.items() if until <= self._master.now]:
            del self._spared[name]
            self._stale.add(name)
        stale, self._stale = self._stale, set()
        stale |= self._changed()
        for name in sorted(stale):
            self._settle(name)
        self._position = self._cluster.ledger.head
        if stale:
            self._master.allocator.take_changed()
            self._shared.charge_queues()
        self._shared.count_pods()

    def refusal(self, name: str, count: int) -> str:
        """Reason why a node cannot run that many more pods; empty if it can."""
        slot = self._cluster.nodes.by_name.get(name)
        if slot is None:
            return f"Node {name} does not exist any more"
        ledger = self._cluster.ledger
        free = int(ledger.alloc[slot, PODS] - ledger.used[slot, PODS])
        free += bool(self._cluster.offers.of(slot))
        return "" if count <= free else f"Node {name} has no pod slot left"

    def _changed(self) -> set[str]:
        """Nodes whose ledger or holdings have changed since the last call."""
        ledger, names = self._cluster.ledger, self._cluster.nodes.names
        slots = ledger.changes_since(self._position) if self._position >= 0 else None
        if slots is None:
            return set(self._cluster.nodes.by_name)
        held = (self._nodes.name_of(each) for each in self._master.allocator.take_changed())
        changed = {names[slot] for slot in set(slots.tolist())}
        return {name for name in (*changed, *held) if name}

    def _settle(self, name: str) -> None:
        """Update one node."""
        agent, node = self._nodes.agent_of(name), self._nodes.cache.get("", name)
        slot = self._cluster.nodes.by_name.get(name)
        if slot is None:
            self._shared.forget(name)
            if node is not None:
                self._stale.add(name)  # the cluster has not read the node yet
        elif agent is None or node is None:
            self._shared.release(slot)
        else:
            is_offered = agents.is_offered(node) and name not in self._spared
            self._set_total(agent, slot, self._rows(name, slot), is_offered=is_offered)

    def _rows(self, name: str, slot: int) -> list[TaskRow]:
        """The pods of running tasks that the ledger charges on a node."""
        pods = self._cluster.pods
        found = []
        for pod in self._tasks.running_on(name):
            row = pods.row(pod.uid)
            if row is not None and pods.slot[row] == slot:
                held: dict[str, int] = {}
                for task in pod.tasks:
                    add_amounts(held, task.resources.scalars().items())
                found.append(TaskRow(row, self._shared.queue_of(pod.role), held))
        return found

    def _set_total(
        self, agent: Agent, slot: int, tasks: list[TaskRow], *, is_offered: bool
    ) -> None:
        """Claim the holdings of an agent, then set its total.

        This rescinds only offers with a resource of which pods and frameworks use more than the
        node has. The next cycle would make all other offers again. Reservations do not change.
        """
        balance = self._claim(agent, slot, tasks, is_offered=is_offered)
        offers = offers_with(balance.short, self._master.offers.of_agent(agent.id))
        if offers:
            offering.rescind_all(self._master, offers)
            balance = self._claim(agent, slot, tasks, is_offered=is_offered)
        held = self._master.allocator.holdings(agent.id)
        whole = total_of(agent, held, (balance.total, balance.ports))
        if not whole.same(agent.total):
            agent.resize(whole)
            self._master.allocator.update_agent(subjects.agent_info(agent))

    def _claim(
        self, agent: Agent, slot: int, tasks: list[TaskRow], *, is_offered: bool
    ) -> NodeBalance:
        held = self._master.allocator.holdings(agent.id)
        ended, unheld = ended_tasks(agent, self._tasks.has_ended), unheld_reservations(agent, held)
        if self._shared.claim(ClaimedNode(slot, agent.id, tasks, ended, unheld)):
            self._cluster.changes.add_cures(Cure.POD_LEFT)
        return self._shared.balance(agent.id, slot, is_offered=is_offered)
