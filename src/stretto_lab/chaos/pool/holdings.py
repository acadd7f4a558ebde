"""Amounts of nodes that frameworks hold without a pod, from offers and tasks of the master."""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from stretto.base.amounts import positive_rest
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.resources.items import ResourceList
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.offers import Offer
from stretto.offers.master.state.tasks import Task
from stretto.offers.nodes.agents import node_of
from stretto.offers.nodes.queues import ANY_ROLE
from stretto_lab.chaos.pool.capacity import Amounts, by_role, exact
from stretto_lab.chaos.pool.objects import PoolPod


class Held(NamedTuple):
    """Amounts of a node that are held without a pod."""

    #: The node.
    node: str
    #: The role that is charged: that of the reservation, or else the role of the holder.
    role: str
    #: The amounts.
    amounts: Mapping[str, int]


def held_of(
    master: MasterState, pods: list[PoolPod], started: Container[tuple[str, int]]
) -> Iterator[Held]:
    """Each offer, each task that never had a pod, executors, and unused reservations.

    Args:
        master: the master with offers and tasks.
        pods: pods with holdings.
        started: tasks that have had a pod, with the numbers of their launches.
    """
    names = {agent.id: node_of(agent.pid) or "" for agent in master.agents}
    for offer in _distinct(master.offers):
        node = names.get(offer.agent_id, "")
        for role, part in by_role(offer.resources, offer.role).items():
            yield Held(node, role, part)
    present = {key for pod in pods for key in pod.tasks}
    for agent in master.agents:
        tasks = [e for e in _tasks(agent) if _key(e) in present or _key(e) not in started]
        for task in tasks:
            if _key(task) not in present:
                for role, part in by_role(task.resources, task.role).items():
                    yield Held(names[agent.id], role, part)
        executors = list(_executors(agent))
        for each in executors:
            for role, part in by_role(each, _role(each)).items():
                yield Held(names[agent.id], role, part)
        offers = _distinct(master.offers.of_agent(agent.id))
        users = [*executors, *(e.resources for e in offers), *(e.resources for e in tasks)]
        for role, unused in _unused(agent, users).items():
            yield Held(names[agent.id], role, unused)


def _distinct(offers: Iterable[Offer]) -> Iterator[Offer]:
    """Offers; only one counts if several offer the same capacity."""
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


def _executors(agent: Agent) -> Iterator[ResourceList]:
    """Resources of the executors of an agent."""
    for executors in agent.executors.values():
        for info in executors.values():
            yield formats.read(info.get("resources", ()))


def _role(resources: ResourceList) -> str:
    return next((e.kind.allocated for e in resources if e.kind.allocated), ANY_ROLE)


def _key(task: Task) -> tuple[str, int]:
    return task.id, task.seen


def _tasks(agent: Agent) -> list[Task]:
    """The tasks of an agent that have not ended."""
    found = [task for tasks in agent.tasks.values() for task in tasks.values()]
    return [task for task in found if task.is_active]


def queue_of(role: str) -> str:
    """The queue of a role."""
    return "default" if role == ANY_ROLE else role.rpartition("/")[2]
