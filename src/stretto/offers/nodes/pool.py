"""One pool: the nodes of a store are agents of a master, and offers are claims in its ledger.

The plane of a scheduler and the master run in one thread. A step reads the changes of the store,
reports them to the master, runs the due cycles, and claims the offered capacity, all before the
scheduler decides. `claim` follows every other step of the master before its effects are sent, so an
offer is charged before a framework receives it.
"""

from collections.abc import Callable, Iterable
from typing import Final

from stretto.offers.master.core import offering
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.outbox import AgentMessage
from stretto.offers.nodes import agents
from stretto.offers.nodes.charges import SharedLedger
from stretto.offers.nodes.commands import NodeCommands
from stretto.offers.nodes.registration import NodeAgents
from stretto.offers.nodes.roles import QueueRoles
from stretto.offers.nodes.tasks import TaskPods
from stretto.offers.nodes.totals import NodeTotals
from stretto.state.cluster.cluster import Cluster
from stretto.state.queues.usage import QueueUsage

_PING: Final = "PingSlaveMessage"


class OfferedNodes:
    """The nodes of one store as agents of one master."""

    def __init__(
        self,
        master: MasterState,
        cluster: Cluster,
        usage: Callable[[], QueueUsage | None],
        tasks: TaskPods,
    ) -> None:
        """Offer the nodes of a cluster.

        Args:
            master: the master that offers them; its thread also runs the scheduler.
            cluster: the ledger of the scheduler over the same store.
            usage: returns the scheduler's usage of queues; ``None`` while no queue needs it.
            tasks: the pods of tasks in the same store.
        """
        #: The pods of tasks.
        self.tasks = tasks
        #: The agents of nodes.
        self.nodes = NodeAgents(master, tasks)
        self._master = master
        self._cluster = cluster
        self._roles = QueueRoles(master)
        self._shared = SharedLedger(cluster, master.allocator, usage, tasks.settings.ports)
        self._totals = NodeTotals(self.nodes, tasks, self._shared, cluster)
        self._commands = NodeCommands(tasks, self._shared.queue_of, self._totals.refusal)
        self._inbox: list[AgentMessage] = []

    # ------------------------------------------------------------ messages of the master

    def deliver(self, message: AgentMessage) -> bool:
        """Process a message to the agent of a node; false if it is for another agent."""
        node = agents.node_of(message.pid)
        if node is None:
            return False
        if message.name != _PING:
            self._inbox.append(message)
        elif self.nodes.answers(node):
            agent = self.nodes.agent_of(node)
            if agent is not None:
                agent.pong()
        return True

    # ------------------------------------------------------------ steps

    def step(self, now: float) -> bool:
        """Update master, store and ledger; true if anything was done."""
        inbox, self._inbox = self._inbox, []
        self._commands.carry_out(inbox, now)
        changed = self.nodes.step()
        touched = self.tasks.step(now)
        self._totals.note((*changed, *touched))
        if self._roles.settle(self._cluster.queues):
            self._shared.set_roles(self._roles.roles)
            self._totals.note_all()
        self.claim()
        offering.settle(self._master)
        self.claim()
        return bool(inbox or changed or touched)

    def claim(self) -> None:
        """Update the claims of frameworks on nodes, and the totals of agents."""
        self._totals.settle()

    def rescind(self, names: Iterable[str] | None = None) -> bool:
        """Rescind the offers of some nodes, or of all, for pods that need their capacity.

        The claims are released, and the capacity is not offered again for some seconds.

        Returns:
            True if there were any offers.
        """
        offers = list(self._master.offers)
        if names is not None:
            chosen = {a.id for name in names if (a := self.nodes.agent_of(name)) is not None}
            offers = [each for each in offers if each.agent_id in chosen]
        held = [self.nodes.name_of(each.agent_id) for each in offers]
        offering.rescind_all(self._master, offers)
        if offers:
            self._totals.spare(name for name in held if name)
            self.claim()
        return bool(offers)

    @property
    def spared(self) -> frozenset[str]:
        """Nodes whose free capacity is reserved for pods."""
        return self._totals.spared

    @property
    def next_due(self) -> float:
        """Clock time of the next work that does not depend on an event."""
        return min(self.tasks.next_due, self._totals.next_due)
