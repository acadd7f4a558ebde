"""Amounts of nodes that frameworks hold without a pod, from offers and tasks of the master."""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from stretto.base.amounts import positive_rest
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources.items import ResourceList
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.offers import Offer
from stretto.offers.nodes.agents import node_of
from stretto.offers.nodes.queues import ANY_ROLE
from stretto_lab.chaos.pool.capacity import Amounts, by_role, exact
from stretto_lab.chaos.pool.objects import PoolPod


class Held(NamedTuple):
    """Amounts of a node that are held without a pod."""

    #: The node.
    node: str
    #: The role that it counts for: that of the reservation, if there is one.
    role: str
    #: How much.
    amounts: Mapping[str, int]


def held_of(master: MasterState, pods: list[PoolPod], started: Container[str]) -> Iterator[Held]:
    """Each offer, each task that never had a pod, and reservations that nothing uses.

    Args:
        master: the master with offers and tasks.
        pods: pods that hold something.
        started: tasks that have had a pod.
    """
    names = {agent.id: node_of(agent.pid) or "" for agent in master.agents}
    for offer in _distinct(master.offers):
        node = names.get(offer.agent_id, "")
        for role, part in by_role(offer.resources, offer.role).items():
            yield Held(node, role, part)
    present = {key for pod in pods for key in pod.tasks}
    for agent in master.agents:
        tasks = [each for each in _tasks(agent) if each.id in present or each.id not in started]
        for task in tasks:
            if task.id not in present:
                for role, part in by_role(task.resources, task.role).items():
                    yield Held(names[agent.id], role, part)
        offers = _distinct(master.offers.of_agent(agent.id))
        users = [each.resources for each in (*offers, *tasks)]
        for role, unused in _unused(agent, users).items():
            yield Held(names[agent.id], role, unused)


def _distinct(offers: Iterable[Offer]) -> Iterator[Offer]:
    """Offers without those of capacity that another one of them offers too."""
    seen: set[tuple[str, tuple[tuple[str, int], ...]]] = set()
    for offer in offers:
        contest = offer.agent_id, tuple(sorted(exact(offer.resources).items()))
        if not offer.contested or contest not in seen:
            yield offer
        seen.add(contest)


def _unused(agent: Agent, users: list[ResourceList]) -> dict[str, Amounts]:
    """Reservations of an agent by role that are neither offered nor used by a task."""
    reserved = by_role(agent.total, "")
    for each in users:
        for role, used in by_role(each, "").items():
            reserved[role] = positive_rest(reserved.get(role, {}), used)
    return {role: unused for role, unused in reserved.items() if role}


def _tasks(agent: Agent) -> list[Any]:
    """The tasks of an agent that have not ended."""
    found = [task for tasks in agent.tasks.values() for task in tasks.values()]
    return [task for task in found if task.is_active]


def queue_of(role: str) -> str:
    """The queue of a role."""
    return "default" if role == ANY_ROLE else role.rpartition("/")[2]
