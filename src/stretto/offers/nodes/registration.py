"""The agents of nodes: registration, loss of the connection, return, and removal."""

from stretto.api.wire.kinds import NODE
from stretto.offers.master.core.agents import departure, reports
from stretto.offers.master.core.operators import maintenance
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.machines import machine_key
from stretto.offers.messages.schema import Message
from stretto.offers.nodes import agents
from stretto.offers.nodes.tasks import TaskPods
from stretto.reconcile.cache import Change, ObjectCache, StoredObject


class NodeAgents:
    """One agent per node of a store."""

    def __init__(self, master: MasterState, tasks: TaskPods) -> None:
        """Initialize with the master; ``tasks`` runs the tasks of these nodes."""
        #: All nodes.
        self.cache = ObjectCache(NODE, "", self._note)
        #: The master.
        self.master = master
        self._tasks = tasks
        self._changed: dict[str, None] = {}
        self._registered: dict[str, str] = {}
        self._pids: dict[str, str] = {}
        self._cordoned: set[str] = set()
        self._knows_gone = False

    def agent_of(self, node: str) -> Agent | None:
        """The registered agent of a node, connected or not."""
        known = self._registered.get(node)
        return None if known is None else self.master.agents.get(known)

    def name_of(self, agent_id: str) -> str | None:
        """The node of a registered agent; ``None`` for agents that are processes."""
        agent = self.master.agents.get(agent_id)
        return None if agent is None else agents.node_of(agent.pid)

    def answers(self, node: str) -> bool:
        """True if the agent of a node answers a ping: its node is ready."""
        found = self.cache.get("", node)
        return found is not None and agents.is_ready(found)

    def step(self) -> list[str]:
        """Update the agents of changed nodes; return the names of these nodes.

        All nodes must have been read before the first step.
        """
        if not self._knows_gone:
            self._remove_gone()
            self._knows_gone = True
        changed, self._changed = list(self._changed), {}
        for name in changed:
            self._settle(name)
        return changed

    def _note(self, change: Change) -> None:
        self._changed[change.object.record.name] = None

    def _remove_gone(self) -> None:
        """Remove agents of a former master whose nodes were deleted before this one started."""
        present = {agents.agent_id(node) for node in self.cache}
        for agent in list(self.master.agents):
            if agents.node_of(agent.pid) is not None and agent.id not in present:
                self._unregister(agent.id, agent.pid)

    def _settle(self, name: str) -> None:
        """Update the agent of one node.

        If a former master knew the node, its tasks are read from the store at once, even while its
        kubelet does not answer.
        """
        node, known = self.cache.get("", name), self._registered.get(name)
        if known is not None and (node is None or agents.agent_id(node) != known):
            self._leave(name)
        if node is None:
            return
        agent, is_ready = self.agent_of(name), agents.is_ready(node)
        is_stale = agent is None or not agent.connected or _is_changed(agent, node)
        was_known = agent is None and self.master.agents.get(agents.agent_id(node)) is not None
        if was_known or (is_ready and is_stale):
            agent = self._register(node)
        if agent is not None and agent.connected and not is_ready:
            departure.lost_connection(self.master, agent)
        if agent is not None:
            self._plan(agent, node)

    def _register(self, node: StoredObject) -> Agent | None:
        """Register the agent of a node, for the first time or again."""
        name, pid = node.record.name, agents.node_pid(node.record.name, agents.ip_of(node))
        frameworks, tasks = self._tasks.reported(name, agents.agent_id(node))
        message: Message = {
            "slave": agents.agent_info(node),
            "version": agents.VERSION,
            "agent_capabilities": [{"type": each} for each in agents.CAPABILITIES],
            "frameworks": frameworks,
            "tasks": tasks,
            "executor_infos": _executors(tasks),
            "derived": True,
        }
        reports.receive(self.master, pid, "ReregisterSlaveMessage", message)
        agent = self.master.agents.get(agents.agent_id(node))
        if agent is not None:
            self._registered[name], self._pids[name] = agent.id, pid
            self._tasks.resend_from(agent.id, self.master.now)
        return agent

    def _leave(self, name: str) -> None:
        """Remove the agent of a deleted node; its tasks are lost."""
        agent_id = self._registered.pop(name)
        self._cordoned.discard(agent_id)
        self._unregister(agent_id, self._pids.pop(name))

    def _unregister(self, agent_id: str, pid: str) -> None:
        message = {"slave_id": {"value": agent_id}}
        reports.receive(self.master, pid, "UnregisterSlaveMessage", message)

    def _plan(self, agent: Agent, node: StoredObject) -> None:
        """Plan maintenance from now for a cordoned node; cancel it after the cordon."""
        is_cordoned = agents.is_cordoned(node)
        if is_cordoned == (agent.id in self._cordoned):
            return
        machines, machine = self.master.machines, {"hostname": agent.hostname, "ip": agent.ip}
        if is_cordoned:
            self._cordoned.add(agent.id)
            start = {"start": {"nanoseconds": int(self.master.wall * 1e9)}}
            window = {"machine_ids": [machine], "unavailability": start}
            machines.schedule([*machines.windows, window])
        else:
            self._cordoned.discard(agent.id)
            machines.stop(machine_key(machine))
        maintenance.plan(self.master, agent)


def _is_changed(agent: Agent, node: StoredObject) -> bool:
    """True if the labels of a node differ from those of its agent's registration."""
    info = agents.agent_info(node)
    return any(info.get(key) != agent.info.get(key) for key in ("attributes", "domain"))


def _executors(tasks: list[Message]) -> list[Message]:
    """Return the executors of groups, without resources: their pods contain none for them."""
    ids = {
        (each["framework_id"]["value"], each["executor_id"]["value"]): None
        for each in tasks
        if "executor_id" in each
    }
    return [
        {"framework_id": {"value": f}, "executor_id": {"value": e}, "type": "DEFAULT"}
        for f, e in ids
    ]
