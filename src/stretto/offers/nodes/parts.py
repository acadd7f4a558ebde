"""Parts of the resources of an agent: reservations, those of ended tasks, and the total."""

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Final, NamedTuple

from stretto.base.amounts import add_amounts
from stretto.offers.allocator.contract import Holding
from stretto.offers.allocator.values import ranges
from stretto.offers.allocator.values.resources import Resources
from stretto.offers.master.resources.items import Item, ItemKind, ResourceList, total
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.offers import Offer
from stretto.offers.nodes.amounts import PORTS, ports_of
from stretto.offers.nodes.states import TaskKey

_PORTS: Final = ItemKind(PORTS, "RANGES")


class AgentPart(NamedTuple):
    """A part of the resources of an agent."""

    #: Thousandths by role and name.
    scalars: Mapping[str, Mapping[str, int]] = {}
    #: Port numbers.
    ports: ranges.Ranges = ()


def ended_tasks(agent: Agent, has_ended: Callable[[TaskKey], bool]) -> AgentPart:
    """Resources of tasks whose pods have ended and whose update is not acknowledged; they are free.

    Reserved resources are excluded, because they become reserved again. A task without an update
    has just been launched, although the pod of a former task may still have its id.
    """
    found: dict[str, dict[str, int]] = {}
    ports: ranges.Ranges = ()
    for tasks in agent.tasks.values():
        for task in tasks.values():
            key = task.framework_id, task.id
            if task.is_active and task.update_uuid and has_ended(key):
                unreserved = task.resources.where(lambda kind: not kind.reservations)
                add_amounts(found.setdefault(task.role, {}), unreserved.scalars().items())
                ports = ranges.union(ports, _ports(unreserved))
    return AgentPart(found, ports)


def unheld_reservations(agent: Agent, held: Mapping[Holding, Resources]) -> AgentPart:
    """Reservations of an agent that no framework holds, by the role of the reservation."""
    reserved, kept = _reserved(agent), _held_reservations(held)
    found: dict[str, dict[str, int]] = {}
    for item in reserved:
        if isinstance(item.value, int):
            add_amounts(found.setdefault(item.kind.role, {}), [(item.kind.name, item.value)])
    for role, milli in kept.scalars.items():
        add_amounts(found.setdefault(role, {}), milli.items(), -1)
    return AgentPart(found, ranges.difference(_ports(reserved), kept.ports))


def offers_with(names: Set[str], offers: Iterable[Offer]) -> list[Offer]:
    """Offers with unreserved resources of these names."""
    return [
        offer
        for offer in offers
        if any(e.kind.name in names and not e.kind.reservations for e in offer.resources)
    ]


def total_of(
    agent: Agent,
    held: Mapping[Holding, Resources],
    balance: tuple[Mapping[str, int], ranges.Ranges],
) -> ResourceList:
    """The total of an agent: its reservations, and the rest of the balance of its node.

    Args:
        agent: the agent.
        held: the amounts that frameworks hold.
        balance: held and free amounts, without reservations that are not held: thousandths by name,
            and port numbers.
    """
    kept = _held_reservations(held)
    unreserved = dict(balance[0])
    for scalars in kept.scalars.values():
        add_amounts(unreserved, scalars.items(), -1)
    items = [Item(ItemKind(name), milli) for name, milli in unreserved.items() if milli > 0]
    ports = ranges.difference(balance[1], kept.ports)
    rest = ResourceList(tuple(items + [Item(_PORTS, ports)] * bool(ports)))
    return total((rest, _reserved(agent)))


def _held_reservations(held: Mapping[Holding, Resources]) -> AgentPart:
    found: dict[str, dict[str, int]] = {}
    ports: ranges.Ranges = ()
    for resources in held.values():
        reserved = resources.reserved
        for role in {kind.reserved_to: None for kind, _ in reserved}:
            add_amounts(found.setdefault(role, {}), reserved.reserved_to(role).quantities)
        ports = ranges.union(ports, ports_of((e.name, n) for e, n in reserved))
    return AgentPart(found, ports)


def _reserved(agent: Agent) -> ResourceList:
    return agent.total.where(lambda kind: bool(kind.reservations))


def _ports(resources: ResourceList) -> ranges.Ranges:
    return ports_of((each.kind.name, each.value) for each in resources)
