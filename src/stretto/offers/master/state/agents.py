"""Agents: totals, used resources, and unreachable or removed agents."""

from collections.abc import Iterator
from enum import Enum
from typing import Final

from stretto.offers.master.resources import formats
from stretto.offers.master.resources.items import ResourceList
from stretto.offers.master.state.changes import EntityKind
from stretto.offers.master.state.tasks import Task
from stretto.offers.messages.schema import Message


class DrainState(Enum):
    """Progress of the drain of an agent."""

    #: Tasks are being killed.
    DRAINING = "DRAINING"
    #: No task is left.
    DRAINED = "DRAINED"


class Drain:
    """A drain that an operator started."""

    def __init__(self, config: Message, at: float) -> None:
        """Initialize with the DrainConfig and the time of the start."""
        #: The DrainConfig.
        self.config: Final = config
        #: Time of the start.
        self.started_at: Final = at
        #: State.
        self.state = DrainState.DRAINING

    def finish(self) -> None:
        """Record that no task is left."""
        self.state = DrainState.DRAINED


class Agent:
    """A registered agent."""

    def __init__(self, info: Message, pid: str, details: Message, at: float) -> None:
        """Initialize with an AgentInfo with id, and the registration message as ``details``."""
        #: Id.
        self.id: Final[str] = info["id"]["value"]
        #: The AgentInfo.
        self.info = info
        #: Address, such as ``slave(1)@10.0.0.1:5051``.
        self.pid = pid
        #: Version of the agent's software.
        self.version: str = details.get("version", "")
        #: Names of its capabilities, in their given order.
        self.capabilities: list[str] = [
            each["type"] for each in details.get("agent_capabilities", ()) if "type" in each
        ]
        #: True if the agent is derived from another source; it is stored only while it has tasks or
        #: reservations.
        self.is_derived: Final[bool] = details.get("derived", False)
        #: All its resources, in Mesos' order.
        self.total = formats.read(info.get("resources", ()))
        #: True if it is connected.
        self.connected = True
        #: True if an operator has deactivated it.
        self.deactivated = False
        #: The drain, if there is one.
        self.drain: Drain | None = None
        #: Time of the registration.
        self.registered_at: Final = at
        #: Time of the last reregistration; 0 before.
        self.reregistered_at = 0.0
        #: Tasks by framework and id, in launch order.
        self.tasks: dict[str, dict[str, Task]] = {}
        #: Executors by framework and id.
        self.executors: dict[str, dict[str, Message]] = {}
        #: Resources of tasks and executors, by framework.
        self.used: dict[str, ResourceList] = {}
        #: Number of pings since the last answer.
        self.missed_pings = 0
        #: Resources of offers, tasks and executors, in Mesos' order.
        self.held = ResourceList()
        self._available: ResourceList | None = None
        for resource in details.get("checkpointed_resources", ()):
            self._restore(resource)

    @property
    def entity(self) -> tuple[EntityKind, str]:
        """Kind and key in storage."""
        return EntityKind.AGENT, self.id

    @property
    def hostname(self) -> str:
        """Host name."""
        name: str = self.info["hostname"]
        return name

    @property
    def ip(self) -> str:
        """The IP address in its pid."""
        return self.pid.rpartition("@")[2].rpartition(":")[0]

    @property
    def port(self) -> int:
        """The port in its pid; 0 if there is none."""
        port = self.pid.rpartition(":")[2]
        return int(port) if port.isdigit() else 0

    @property
    def machine(self) -> tuple[str, str]:
        """Host name and IP address, which identify the machine for maintenance."""
        return self.hostname, self.ip

    @property
    def is_active(self) -> bool:
        """True if its resources may be offered."""
        return self.connected and not self.deactivated

    @property
    def checkpointed(self) -> ResourceList:
        """Dynamic reservations and persistent volumes, which the agent stores."""
        return self.total.where(
            lambda kind: not kind.provider and (kind.dynamic or kind.persistent)
        )

    @property
    def task_count(self) -> int:
        """Number of tasks, including terminal ones without an acknowledgement."""
        return sum(map(len, self.tasks.values()))

    def has(self, capability: str) -> bool:
        """True if it has a capability."""
        return capability in self.capabilities

    def task(self, framework_id: str, task_id: str) -> Task | None:
        """A task, or None."""
        return self.tasks.get(framework_id, {}).get(task_id)

    def executor(self, framework_id: str, executor_id: str) -> Message | None:
        """The ExecutorInfo, or None."""
        return self.executors.get(framework_id, {}).get(executor_id)

    def executor_ids(self, framework_id: str) -> list[str]:
        """Executors of a framework, newest first."""
        return list(reversed(self.executors.get(framework_id, {})))

    @property
    def available(self) -> ResourceList:
        """Free resources, in Mesos' order."""
        if self._available is None:
            self._available = self.total - self.held.allocated(None)
        return self._available

    def hold(self, resources: ResourceList) -> None:
        """Count resources as offered or used."""
        self.held, self._available = self.held + resources, None

    def free(self, resources: ResourceList) -> None:
        """Count resources as neither offered nor used."""
        self.held, self._available = self.held - resources, None

    def convert(self, before: ResourceList, after: ResourceList) -> None:
        """Replace resources by those that an operation produces."""
        self.resize(self.total - before + after)

    def resize(self, total: ResourceList) -> None:
        """Replace the total."""
        self.total, self._available = total, None

    def reconnect(self, info: Message, pid: str, details: Message, at: float) -> None:
        """Apply a new registration of the agent, perhaps with other resources.

        Reservations and volumes remain as far as the resources still contain them. The total of a
        derived agent follows its node.
        """
        is_resized = info.get("resources", []) != self.info.get("resources", [])
        self.info, self.pid, self.reregistered_at, self.connected = info, pid, at, True
        if is_resized and not self.is_derived:
            kept = formats.write(self.checkpointed)
            self.resize(formats.read(info.get("resources", ())))
            for resource in kept:
                self._restore(resource)
        self.version = details.get("version", self.version)
        names = [each["type"] for each in details.get("agent_capabilities", ()) if "type" in each]
        self.capabilities = names or self.capabilities

    def ping(self) -> None:
        """Count a sent ping."""
        self.missed_pings += 1

    def pong(self) -> None:
        """Reset the count of pings after an answer."""
        self.missed_pings = 0

    def disconnect(self) -> None:
        """Record the loss of the connection."""
        self.connected = False

    def deactivate(self, drain: Drain | None = None) -> None:
        """Deactivate the agent for an operator, with an optional drain."""
        self.deactivated, self.drain = True, drain or self.drain

    def reactivate(self) -> None:
        """Reactivate the agent for an operator."""
        self.deactivated, self.drain = False, None

    def add_task(self, task: Task) -> None:
        """Add a task."""
        self.tasks.setdefault(task.framework_id, {})[task.id] = task
        if task.is_active:
            self.use(task.framework_id, task.resources)

    def remove_task(self, task: Task) -> None:
        """Remove a task."""
        found = self.tasks.get(task.framework_id, {})
        found.pop(task.id, None)
        if not found:
            self.tasks.pop(task.framework_id, None)

    def add_executor(self, framework_id: str, info: Message, resources: ResourceList) -> None:
        """Add an executor."""
        self.executors.setdefault(framework_id, {})[info["executor_id"]["value"]] = info
        self.use(framework_id, resources)

    def remove_executor(self, framework_id: str, executor_id: str) -> ResourceList:
        """Remove an executor; return its resources."""
        found = self.executors.get(framework_id, {})
        info = found.pop(executor_id, None)
        if not found:
            self.executors.pop(framework_id, None)
        resources = formats.read(info.get("resources", ())) if info else ResourceList()
        self.release(framework_id, resources)
        return resources

    def use(self, framework_id: str, resources: ResourceList) -> None:
        """Count resources as used by a framework."""
        self.used[framework_id] = self.used.get(framework_id, ResourceList()) + resources

    def release(self, framework_id: str, resources: ResourceList) -> None:
        """Count resources as free."""
        left = self.used.get(framework_id, ResourceList()) - resources
        if left:
            self.used[framework_id] = left
        else:
            self.used.pop(framework_id, None)

    def _restore(self, resource: Message) -> None:
        """Apply a reservation or a volume that the agent has stored."""
        stored = formats.read([resource])
        plain = formats.read([_before(resource)])
        if self.total.contains(plain) and not self.total.contains(stored):
            self.convert(plain, stored)


def _before(resource: Message) -> Message:
    """A stored resource without its dynamic reservations and its volume."""
    resource = formats.upgraded(resource)
    static = [each for each in resource.get("reservations", ()) if each.get("type") == "STATIC"]
    plain = {key: value for key, value in resource.items() if key not in ("reservations", "shared")}
    if static:
        plain["reservations"] = static
    source = plain.pop("disk", {}).get("source")
    return plain | ({"disk": {"source": source}} if source else {})


class RegisteredAgents:
    """Agents by id, in the order of their registration."""

    def __init__(self) -> None:
        self._registered: dict[str, Agent] = {}
        self._by_pid: dict[str, Agent] = {}
        #: AgentInfos by id of stored agents that have not reregistered yet.
        self.recovered: dict[str, Message] = {}
        #: Time at which agents became unreachable, by id.
        self.unreachable: dict[str, float] = {}
        #: Time at which agents were marked gone, by id.
        self.gone: dict[str, float] = {}
        self._removed: set[str] = set()

    def add(self, agent: Agent) -> None:
        """Add an agent."""
        self._registered[agent.id] = self._by_pid[agent.pid] = agent
        self.recovered.pop(agent.id, None)
        self.unreachable.pop(agent.id, None)

    def remove(self, agent: Agent) -> None:
        """Remove an agent."""
        self._registered.pop(agent.id, None)
        self._leave(agent, agent.pid)
        self._removed.add(agent.id)

    def mark_gone(self, agent_id: str, at: float) -> None:
        """Record that an operator has marked an agent gone."""
        self.gone[agent_id] = at
        self.recovered.pop(agent_id, None)
        self.unreachable.pop(agent_id, None)

    def mark_unreachable(self, agent_id: str, at: float) -> None:
        """Record that an agent did not return in time."""
        self.unreachable[agent_id] = at
        self.recovered.pop(agent_id, None)

    def get(self, agent_id: str) -> Agent | None:
        """The registered agent, or None."""
        return self._registered.get(agent_id)

    def by_pid(self, pid: str) -> Agent | None:
        """The registered agent at an address, or None."""
        return self._by_pid.get(pid)

    def moved(self, agent: Agent, before: str) -> None:
        """Find an agent at its present address, and no longer at the one before."""
        self._leave(agent, before)
        self._by_pid[agent.pid] = agent

    def _leave(self, agent: Agent, pid: str) -> None:
        if self._by_pid.get(pid) is agent:
            del self._by_pid[pid]

    def __iter__(self) -> Iterator[Agent]:
        """Agents, newest first: the order in which Mesos walks its tables."""
        return iter(list(reversed(self._registered.values())))

    def __len__(self) -> int:
        return len(self._registered)
