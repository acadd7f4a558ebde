"""Messages that describe the state to operators: agents, frameworks, tasks, executors, roles."""

from typing import Any

from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.resources.formats import ResourceFormat
from stretto.offers.master.resources.items import ResourceList, total
from stretto.offers.master.roles import is_below
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.master.state.tasks import Task
from stretto.offers.messages.schema import Message


def time_info(seconds: float) -> Message:
    """A TimeInfo message."""
    return {"nanoseconds": int(seconds * 1e9)}


def framework_event(framework: Framework) -> Message:
    """A framework in FRAMEWORK_ADDED and FRAMEWORK_UPDATED."""
    return _framework(framework) | {"unregistered_time": time_info(framework.unregistered_at)}


def framework_message(master: MasterState, framework: Framework) -> Message:
    """A framework in GET_FRAMEWORKS."""
    message = _framework(framework) | {"offer_constraints": framework.constraints}
    if framework.unregistered_at:
        message["unregistered_time"] = time_info(framework.unregistered_at)
    offers = list(reversed(master.offers.of_framework(framework.id)))
    if offers:
        message["offers"] = [
            {
                "id": {"value": offer.id},
                "framework_id": {"value": framework.id},
                "agent_id": {"value": offer.agent_id},
                "hostname": agent.hostname,
                "resources": formats.write(offer.resources, ResourceFormat.BOTH),
                "allocation_info": {"role": offer.role},
            }
            for offer in offers
            if (agent := master.agents.get(offer.agent_id))
        ]
    for key, resources in (
        ("allocated_resources", framework.used),
        ("offered_resources", total(offer.resources for offer in offers)),
    ):
        if resources:
            message[key] = formats.write(resources, ResourceFormat.BOTH)
    return message


def agent_message(master: MasterState, agent: Agent) -> Message:
    """An agent in GET_AGENTS."""
    message: Message = {
        "agent_info": shown_agent(agent),
        "active": agent.is_active,
        "deactivated": agent.deactivated,
        "version": agent.version,
        "pid": agent.pid,
        "registered_time": time_info(agent.registered_at),
        "capabilities": [{"type": each} for each in agent.capabilities],
    }
    if agent.reregistered_at:
        message["reregistered_time"] = time_info(agent.reregistered_at)
    for key, resources in (
        ("total_resources", agent.total),
        ("allocated_resources", total(agent.used.values())),
        ("offered_resources", offered_on(master, agent)),
    ):
        if resources:
            message[key] = formats.write(resources, ResourceFormat.BOTH)
    if agent.drain is not None:
        message["drain_info"] = {
            "state": agent.drain.state.value,
            "config": agent.drain.config,
        }
        message["estimated_drain_start_time"] = time_info(agent.drain.started_at)
    return message


def offered_on(master: MasterState, agent: Agent) -> ResourceList:
    """Amounts of an agent in outstanding offers."""
    return total(offer.resources for offer in master.offers.of_agent(agent.id))


def shown_agent(agent: Agent) -> Message:
    """The AgentInfo with resources in the newest format."""
    info = {"port": agent.port} | agent.info
    resources = [formats.upgraded(each) for each in agent.info.get("resources", ())]
    return info | {"resources": resources}


def tasks_document(master: MasterState) -> Message:
    """GET_TASKS."""
    running: list[Message] = []
    unreachable: list[Message] = []
    completed: list[Message] = []
    for framework in _all(master):
        running += [task.message() for task in _newest_first(framework)]
        unreachable += [task.message() for task in framework.unreachable.values()]
        completed += [task.message() for task in framework.completed]
    return {"tasks": running, "unreachable_tasks": unreachable, "completed_tasks": completed}


def executors_document(master: MasterState) -> Message:
    """GET_EXECUTORS."""
    executors = [
        {"executor_info": info, "agent_id": {"value": agent_id}}
        for framework in master.frameworks
        for agent_id, found in framework.executors.items()
        for info in reversed(list(found.values()))
    ]
    return {"executors": executors}


def frameworks_document(master: MasterState) -> Message:
    """GET_FRAMEWORKS."""
    return {
        "frameworks": [framework_message(master, each) for each in master.frameworks],
        "completed_frameworks": [
            framework_message(master, each) for each in master.frameworks.completed
        ],
    }


def agents_document(master: MasterState) -> Message:
    """GET_AGENTS."""
    return {
        "agents": [agent_message(master, each) for each in master.agents],
        "recovered_agents": list(master.agents.recovered.values()),
    }


def state_document(master: MasterState) -> Message:
    """GET_STATE."""
    return {
        "get_tasks": tasks_document(master),
        "get_executors": executors_document(master),
        "get_frameworks": frameworks_document(master),
        "get_agents": agents_document(master),
    }


def roles_document(master: MasterState) -> Message:
    """GET_ROLES."""
    roles = []
    for role in known_roles(master):
        message: Message = {"name": role, "weight": master.weights.get(role, 1.0)}
        members = [{"value": each.id} for each in master.frameworks.in_role(role)]
        if members:
            message["frameworks"] = members
        held = held_by_role(master, role).allocated(None)
        if held:
            message["resources"] = formats.write(held)
        roles.append(message)
    return {"roles": roles} if roles else {}


def known_roles(master: MasterState) -> list[str]:
    """Roles with a framework, a weight, quota, capacity or reservations, and their parents."""
    found: set[str] = set(master.quotas) | set(master.weights)
    for framework in master.frameworks:
        found |= set(framework.roles)
        found |= {item.kind.allocated or "*" for item in framework.used}
    for agent in master.agents:
        found |= {item.kind.role for item in agent.total if item.kind.reservations}
    for role in list(found):
        while "/" in role:
            role = role.rpartition("/")[0]
            found.add(role)
    return sorted(found)


def held_by_role(master: MasterState, role: str) -> ResourceList:
    """Amounts of a role that frameworks use, and offered amounts."""
    used = [each.used.where(lambda kind: kind.allocated == role) for each in master.frameworks]
    offers = [offer.resources for offer in master.offers if offer.role == role]
    return total([*used, *offers])


def reserved_to(master: MasterState, role: str) -> ResourceList:
    """Reserved amounts of a role and its descendants, on all agents."""
    return total(
        agent.total.where(
            lambda kind: (
                bool(kind.reservations) and (kind.role == role or is_below(kind.role, role))
            )
        )
        for agent in master.agents
    )


def _framework(framework: Framework) -> Message:
    return {
        "framework_info": framework.info,
        "active": framework.active,
        "connected": framework.connected,
        "recovered": framework.recovered,
        "registered_time": time_info(framework.registered_at),
        "reregistered_time": time_info(framework.reregistered_at),
    }


def _all(master: MasterState) -> list[Framework]:
    return [*master.frameworks, *master.frameworks.completed]


def _newest_first(framework: Framework) -> list[Task]:
    tasks: list[Any] = list(framework.tasks.values())
    return tasks[::-1]
