"""Changes since the state was stored."""

from collections.abc import Iterator
from enum import Enum
from typing import Protocol


class EntityKind(Enum):
    """Kinds of stored entities."""

    #: A framework; its key is its id.
    FRAMEWORK = "framework"
    #: A registered agent; its key is its id.
    AGENT = "agent"
    #: A task; its key is the ids of its framework and of the task.
    TASK = "task"
    #: Quota and weight of a role.
    ROLE = "role"
    #: Maintenance of all machines; its key is empty.
    MACHINES = "machines"
    #: An agent that is unreachable or gone; its key is its id.
    ABSENT = "absent"


class StoredEntity(Protocol):
    """A framework, an agent or a task."""

    @property
    def entity(self) -> tuple[EntityKind, str]:
        """Kind and key."""
        ...


class ChangeSet:
    """Keys of changed entities."""

    def __init__(self) -> None:
        self._changed: dict[tuple[EntityKind, str], None] = {}

    def add(self, kind: EntityKind, key: str) -> None:
        """Record an entity that was added, changed or removed."""
        self._changed[kind, key] = None

    def role(self, role: str) -> None:
        """Record a change of quota or weight of a role."""
        self.add(EntityKind.ROLE, role)

    def machines(self) -> None:
        """Record a change of maintenance."""
        self.add(EntityKind.MACHINES, "")

    def absent(self, agent_id: str) -> None:
        """Record an agent that has become unreachable or gone, or has returned."""
        self.add(EntityKind.ABSENT, agent_id)

    def drain(self) -> Iterator[tuple[EntityKind, str]]:
        """Take all changes, oldest first."""
        changed, self._changed = self._changed, {}
        yield from changed


def task_key(framework_id: str, task_id: str) -> str:
    """The key of a task."""
    return f"{framework_id}\n{task_id}"
