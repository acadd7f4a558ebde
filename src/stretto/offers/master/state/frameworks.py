"""Frameworks: their subscription, their tasks and executors, and removed frameworks."""

from collections import deque
from collections.abc import Collection, Iterator
from typing import Final

from stretto.base.limited import LimitedMap
from stretto.offers.master.resources.items import ResourceList
from stretto.offers.master.state.changes import EntityKind
from stretto.offers.master.state.outbox import ClientStream
from stretto.offers.master.state.tasks import Task
from stretto.offers.messages.schema import Message

MAX_COMPLETED: Final = 50
"""Maximum number of removed frameworks in memory, as in Mesos."""
MAX_COMPLETED_TASKS: Final = 1000
"""Maximum number of completed tasks per framework in memory, as in Mesos."""


def roles_of(info: Message) -> list[str]:
    """The roles of a FrameworkInfo: ``roles`` with MULTI_ROLE, else ``role``."""
    if "MULTI_ROLE" in capabilities_of(info):
        return list(info.get("roles", ()))
    return [info.get("role", "*")]


def capabilities_of(info: Message) -> frozenset[str]:
    """The capabilities of a FrameworkInfo."""
    return frozenset(each["type"] for each in info.get("capabilities", ()) if "type" in each)


class Framework:
    """A framework that may have tasks, subscribed or not."""

    def __init__(self, info: Message, at: float) -> None:
        """Initialize with a FrameworkInfo that has an id, and the time of the registration."""
        #: Id.
        self.id: Final[str] = info["id"]["value"]
        #: The FrameworkInfo.
        self.info = info
        #: Its capabilities.
        self.capabilities = capabilities_of(info)
        #: Roles without offers.
        self.suppressed: list[str] = []
        #: The OfferConstraints message.
        self.constraints: Message = {}
        #: The open stream; ``None`` while it is disconnected.
        self.stream: ClientStream | None = None
        #: True if it receives offers.
        self.active = False
        #: True if it is known from storage or agents only and has not subscribed yet.
        self.recovered = False
        #: Time of the registration.
        self.registered_at: Final = at
        #: Time of the last subscription.
        self.reregistered_at = at
        #: Time of the end; 0 before.
        self.unregistered_at = 0.0
        #: Number of its subscriptions, by which timers of older ones are recognized.
        self.generation = 0
        #: Running tasks by id, in launch order.
        self.tasks: dict[str, Task] = {}
        #: Tasks on unreachable agents.
        self.unreachable: dict[str, Task] = {}
        #: Terminal tasks whose last update was acknowledged.
        self.completed: deque[Task] = deque(maxlen=MAX_COMPLETED_TASKS)
        #: Executors by agent and id.
        self.executors: dict[str, dict[str, Message]] = {}
        #: Resources of tasks and executors, over all agents.
        self.used = ResourceList()
        #: Counts by metric suffix, such as ``calls/accept``.
        self.counts: dict[str, int] = {}

    @property
    def entity(self) -> tuple[EntityKind, str]:
        """Kind and key in storage."""
        return EntityKind.FRAMEWORK, self.id

    @property
    def connected(self) -> bool:
        """True if a stream is open."""
        return self.stream is not None

    @property
    def roles(self) -> list[str]:
        """Its roles."""
        return roles_of(self.info)

    @property
    def partition_aware(self) -> bool:
        """True if it supports the task states of partitions."""
        return "PARTITION_AWARE" in self.capabilities

    @property
    def failover_timeout(self) -> float:
        """Seconds for which it may be disconnected."""
        return float(self.info.get("failover_timeout", 0.0))

    def count(self, suffix: str, by: int = 1) -> None:
        """Add to a count."""
        self.counts[suffix] = self.counts.get(suffix, 0) + by

    def update(self, info: Message, suppressed: list[str], constraints: Message) -> None:
        """Replace the FrameworkInfo, the suppressed roles and the constraints."""
        self.info, self.suppressed, self.constraints = info, suppressed, constraints
        self.capabilities = capabilities_of(info)

    def connect(self, stream: ClientStream, at: float) -> None:
        """Set a new stream; the framework becomes active."""
        self.stream, self.active, self.recovered = stream, True, False
        self.reregistered_at = at
        self.generation += 1

    def disconnect(self) -> None:
        """Remove the closed stream."""
        self.stream, self.active = None, False
        self.generation += 1

    def recover(self) -> None:
        """Mark it as known from storage only."""
        self.recovered = True

    def end(self, at: float) -> None:
        """Record the removal of the framework."""
        self.disconnect()
        self.unregistered_at = at

    def set_suppressed(self, roles: Collection[str], suppressed: bool) -> None:
        """Stop offers for roles, or resume them."""
        others = [each for each in self.suppressed if each not in roles]
        added = [each for each in roles if each not in self.suppressed]
        self.suppressed = [*self.suppressed, *added] if suppressed else others

    def add_task(self, task: Task) -> None:
        """Add a launched task."""
        self.tasks[task.id] = task
        if task.is_active:
            self.use(task.resources)

    def remove_task(self, task: Task) -> None:
        """Move a task to the completed or to the unreachable tasks."""
        self.tasks.pop(task.id, None)
        self.unreachable.pop(task.id, None)
        if task.state == "TASK_UNREACHABLE":
            self.unreachable[task.id] = task
        else:
            self.completed.append(task)

    def add_executor(self, agent_id: str, info: Message, resources: ResourceList) -> None:
        """Add an executor."""
        self.executors.setdefault(agent_id, {})[info["executor_id"]["value"]] = info
        self.use(resources)

    def remove_executor(self, agent_id: str, executor_id: str, resources: ResourceList) -> None:
        """Remove an executor."""
        found = self.executors.get(agent_id, {})
        found.pop(executor_id, None)
        if not found:
            self.executors.pop(agent_id, None)
        self.release(resources)

    def use(self, resources: ResourceList) -> None:
        """Count resources as used."""
        self.used = self.used + resources

    def release(self, resources: ResourceList) -> None:
        """Count resources as free."""
        self.used = self.used - resources


class FrameworkTable:
    """Frameworks by id, in the order of their registration."""

    def __init__(self) -> None:
        self._registered: dict[str, Framework] = {}
        self._completed = LimitedMap[str, Framework](MAX_COMPLETED)

    def add(self, framework: Framework) -> None:
        """Add a framework."""
        self._registered[framework.id] = framework

    def complete(self, framework: Framework) -> None:
        """Move a framework to the completed ones."""
        self._registered.pop(framework.id, None)
        self._completed[framework.id] = framework

    def get(self, framework_id: str) -> Framework | None:
        """The framework, or None."""
        return self._registered.get(framework_id)

    def is_completed(self, framework_id: str) -> bool:
        """True if a framework with this id was removed."""
        return framework_id in self._completed

    @property
    def completed(self) -> list[Framework]:
        """Removed frameworks, oldest first."""
        return list(self._completed.values())

    def in_role(self, role: str) -> list[Framework]:
        """Frameworks that are subscribed to a role."""
        return [each for each in self if role in each.roles]

    def __iter__(self) -> Iterator[Framework]:
        """Frameworks, newest first: the order in which Mesos walks its tables."""
        return iter(list(reversed(self._registered.values())))

    def __len__(self) -> int:
        return len(self._registered)
