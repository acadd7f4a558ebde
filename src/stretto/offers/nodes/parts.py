"""Parts of what an agent has: its reservations, what ended tasks hold, and its total."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from stretto.offers.allocator.contract import Holding
from stretto.offers.allocator.values import ranges
from stretto.offers.allocator.values.resources import Resources
from stretto.offers.master.resources.items import Item, ItemKind, ResourceList, total
from stretto.offers.master.state.agents import Agent
from stretto.offers.nodes.amounts import PORTS, ports_of
from stretto.offers.nodes.states import TaskKey

_PORTS: Final = ItemKind(PORTS, "RANGES")


class EndedTasks(NamedTuple):
    """What tasks whose pods have ended hold until their frameworks know it: it is free."""

    #: Thousandths by role and name.
    scalars: Mapping[str, Mapping[str, int]] = {}
    #: Port numbers.
    ports: ranges.Ranges = ()


class Reserved(NamedTuple):
    """A part of what is reserved for roles."""

    #: Thousandths by name.
    scalars: Mapping[str, int] = {}
    #: Port numbers.
    ports: ranges.Ranges = ()


def ended_tasks(agent: Agent, has_ended: Callable[[TaskKey], bool]) -> EndedTasks:
    """What tasks of an agent whose pods have ended still hold."""
    found: dict[str, dict[str, int]] = {}
    ports: ranges.Ranges = ()
    for tasks in agent.tasks.values():
        for task in tasks.values():
            if task.is_active and has_ended((task.framework_id, task.id)):
                mine = found.setdefault(task.role, {})
                for name, milli in task.resources.scalars().items():
                    mine[name] = mine.get(name, 0) + milli
                ports = ranges.union(ports, _ports(task.resources))
    return EndedTasks(found, ports)


def unheld_reservations(agent: Agent, held: Mapping[Holding, Resources]) -> Reserved:
    """What is reserved of an agent and held by no framework."""
    reserved, kept = _reserved(agent), _held_reservations(held)
    scalars = {name: n - kept.scalars.get(name, 0) for name, n in reserved.scalars().items()}
    return Reserved(scalars, ranges.difference(_ports(reserved), kept.ports))


def total_of(
    agent: Agent,
    held: Mapping[Holding, Resources],
    balance: tuple[Mapping[str, int], ranges.Ranges],
) -> ResourceList:
    """The total of an agent: its reservations, and the rest of the balance of its node.

    Args:
        agent: the agent.
        held: what frameworks hold of it.
        balance: what is held or free, without reservations that are not held: thousandths by name,
            and port numbers.
    """
    kept = _held_reservations(held)
    items = [
        Item(ItemKind(name), amount)
        for name, milli in balance[0].items()
        if (amount := milli - kept.scalars.get(name, 0)) > 0
    ]
    ports = ranges.difference(balance[1], kept.ports)
    rest = ResourceList(tuple(items + [Item(_PORTS, ports)] * bool(ports)))
    return total((rest, _reserved(agent)))


def _held_reservations(held: Mapping[Holding, Resources]) -> Reserved:
    found: dict[str, int] = {}
    ports: ranges.Ranges = ()
    for resources in held.values():
        for name, milli in resources.reserved.quantities:
            found[name] = found.get(name, 0) + milli
        ports = ranges.union(ports, ports_of((e.name, n) for e, n in resources.reserved))
    return Reserved(found, ports)


def _reserved(agent: Agent) -> ResourceList:
    return agent.total.where(lambda kind: bool(kind.reservations))


def _ports(resources: ResourceList) -> ranges.Ranges:
    return ports_of((each.kind.name, each.value) for each in resources)
