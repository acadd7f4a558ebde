"""Agents: free amounts of each, and the columns that select the candidates of a cycle."""

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.offers.allocator.pool.filters import AgentFilters
from stretto.offers.allocator.subjects.agents import AgentCapability, AgentInfo, Unavailability
from stretto.offers.allocator.subjects.grants import InverseOfferStatus
from stretto.offers.allocator.values.resources import NOTHING, Resources

HolderKey = tuple[str, str]
"""Framework and role."""

SETTLED: int = -1
"""Value of ``Closing.held``: no change of holdings opens the agent."""


class Closing(NamedTuple):
    """Condition for skipping an agent: it has nothing to offer until one of these changes."""

    #: Number of events that may open all agents.
    opened: int
    #: Number of changes of the pool's holdings; `SETTLED` if quota was not a reason.
    held: int
    #: Earliest end of a filter that was a reason.
    until: float


class AgentState:
    """An agent."""

    __slots__ = (
        "available",
        "filters",
        "has_gpus",
        "held",
        "info",
        "inverse_statuses",
        "is_active",
        "is_overcommitted",
        "is_special",
        "slot",
        "unavailability",
        "unknown",
        "used",
    )

    def __init__(self, info: AgentInfo, slot: int) -> None:
        """Start with all resources free."""
        #: Its row in the columns.
        self.slot = slot
        #: Held amounts, by framework and role; shared items are counted per holder.
        self.held: dict[HolderKey, Resources] = {}
        #: The used part of the held amounts.
        self.used: dict[HolderKey, Resources] = {}
        #: Holders whose framework is not registered yet; no sorter counts them.
        self.unknown: set[HolderKey] = set()
        #: Free resources, and all shared items.
        self.available: Resources = info.resources
        #: True if it may be offered.
        self.is_active = True
        #: Decline filters.
        self.filters = AgentFilters()
        #: Planned maintenance.
        self.unavailability: Unavailability | None = None
        #: Last answers to inverse offers, by framework.
        self.inverse_statuses: dict[str, InverseOfferStatus] = {}
        #: True if the held amounts exceed the total.
        self.is_overcommitted = False
        self.set_info(info)

    def set_info(self, info: AgentInfo) -> None:
        """Replace its registration."""
        #: Its registration.
        self.info = info
        #: True if it has GPUs.
        self.has_gpus = any(name == "gpus" and n for name, n in info.resources.quantities)
        #: True if some frameworks or roles cannot use the agent, apart from constraints.
        self.is_special = (
            self.has_gpus
            or info.domain is not None
            or len(info.capabilities) < len(AgentCapability)
        )

    @property
    def is_offerable(self) -> bool:
        """True if the agent may be offered and has free resources."""
        return self.is_active and bool(self.available.entries)

    def plan(self, unavailability: Unavailability | None) -> None:
        """Plan or cancel its maintenance."""
        self.unavailability = unavailability
        self.inverse_statuses.clear()

    def show(self, active: bool) -> None:
        """Set the flag ``is_active``."""
        self.is_active = active

    def replace_total(self, total: Resources) -> None:
        """Replace the total; `recount` must follow."""
        self.set_info(msgspec.structs.replace(self.info, resources=total))

    def recount(self) -> None:
        """Compute the free amounts from the total and the holdings."""
        total = self.info.resources
        taken = NOTHING
        for held in self.held.values():
            taken += held
        alone = taken - taken.shared
        self.is_overcommitted = not total.contains(alone)
        self.available = total - alone

    def adopt(self, key: HolderKey, resources: Resources) -> None:
        """Record the use of tasks whose framework is not registered yet."""
        self.unknown.add(key)
        self.held[key] = self.used[key] = resources
        self.recount()

    def take(self, key: HolderKey, resources: Resources) -> None:
        """Charge free resources to a holder."""
        held = self.held.get(key)
        self.held[key] = resources if held is None else held + resources
        alone = resources if resources.is_plain else _alone(resources)
        if self.available.contains(alone):
            self.available -= alone
        else:
            self.recount()

    def give_back(self, key: HolderKey, resources: Resources) -> bool:
        """Free resources of a holder; false if the holder does not have them."""
        held = self.held.get(key)
        if held is None or not held.contains(resources):
            return False
        left = held - resources
        if left:
            self.held[key] = left
        else:
            del self.held[key]
        if self.is_overcommitted:
            self.recount()
        else:
            self.available = _alone(resources) + self.available
        return True


def _alone(resources: Resources) -> Resources:
    return resources - resources.shared if resources.has_shared else resources


class AgentTable:
    """All agents, with one row each in the columns."""

    def __init__(self) -> None:
        """Start empty."""
        self._by_id: dict[str, AgentState] = {}
        self._slots: list[AgentState | None] = []
        self._free_slots: list[int] = []
        self._offerable: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._opened: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._held: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._until: npt.NDArray[np.float64] = np.zeros(0, np.float64)
        self._changed: set[str] = set()

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[AgentState]:
        return iter(self._by_id.values())

    def find(self, agent: str) -> AgentState | None:
        """An agent, or ``None``."""
        return self._by_id.get(agent)

    def add(self, info: AgentInfo) -> AgentState:
        """Add an agent with all resources free."""
        if self._free_slots:
            slot = self._free_slots.pop()
        else:
            slot = len(self._slots)
            self._slots.append(None)
            self._grow(slot + 1)
        agent = self._slots[slot] = self._by_id[info.id] = AgentState(info, slot)
        self.note(agent)
        return agent

    def active(self) -> int:
        """Number of agents that are connected and not deactivated."""
        return sum(agent.is_active for agent in self)

    def set_active(self, agent: AgentState, active: bool) -> None:
        """Start or stop offering an agent."""
        agent.show(active)
        self.note(agent)

    def remove(self, agent: AgentState) -> None:
        """Remove an agent and free its row."""
        del self._by_id[agent.info.id]
        self._slots[agent.slot] = None
        self._offerable[agent.slot] = False
        self._free_slots.append(agent.slot)

    def note(self, agent: AgentState) -> None:
        """Record a change of an agent, so that the next cycle evaluates it."""
        slot = agent.slot
        self._offerable[slot] = agent.is_offerable
        self._opened[slot] = SETTLED
        self._changed.add(agent.info.id)

    def take_changed(self) -> set[str]:
        """Names of the agents that have changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def close(self, agent: AgentState, closing: Closing) -> None:
        """Skip an agent until one member of the closing changes."""
        slot = agent.slot
        self._opened[slot], self._held[slot], self._until[slot] = closing

    def candidates(self, now: float, opened: int, held: int) -> list[AgentState]:
        """Agents with free resources that are not closed."""
        same = (self._held == SETTLED) | (self._held == held)
        closed = (self._opened == opened) & same & (self._until > now)
        slots = np.flatnonzero(self._offerable & ~closed).tolist()
        return [agent for slot in slots if (agent := self._slots[slot]) is not None]

    def _grow(self, size: int) -> None:
        if size > len(self._offerable):
            more = max(size, 2 * len(self._offerable)) - len(self._offerable)
            self._offerable = np.concatenate([self._offerable, np.zeros(more, np.bool_)])
            self._opened = np.concatenate([self._opened, np.full(more, SETTLED, np.int64)])
            self._held = np.concatenate([self._held, np.zeros(more, np.int64)])
            self._until = np.concatenate([self._until, np.full(more, inf)])
