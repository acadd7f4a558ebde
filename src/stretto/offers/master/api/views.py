"""Documents of the endpoints that preceded the v1 API: plain numbers instead of messages."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from stretto.offers.master.api.queries import version_info
from stretto.offers.master.core.documents import (
    held_by_role,
    known_roles,
    offered_on,
    reserved_to,
)
from stretto.offers.master.core.operators.quota import consumed
from stretto.offers.master.core.settings import VERSION
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.resources.formats import ResourceFormat
from stretto.offers.master.resources.items import MILLI, ResourceList, total
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.master.state.tasks import Task
from stretto.offers.messages.schema import Message

Document = dict[str, Any]
"""A JSON object."""

STATES: Final = (
    "TASK_STAGING",
    "TASK_STARTING",
    "TASK_RUNNING",
    "TASK_KILLING",
    "TASK_FINISHED",
    "TASK_KILLED",
    "TASK_FAILED",
    "TASK_LOST",
    "TASK_ERROR",
    "TASK_UNREACHABLE",
)
"""Task states that summaries count."""


def state(master: MasterState) -> Document:
    """/state."""
    settings, info = master.settings, master.master_info()
    agents = list(master.agents)
    leader = {key: info[key] for key in ("id", "pid", "port", "hostname", "domain") if key in info}
    found: Document = version_info() | {
        "version": VERSION,
        "start_time": master.started_at,
        "elected_time": master.started_at,
        "id": settings.id,
        "pid": settings.pid,
        "hostname": settings.hostname,
        "capabilities": [each["type"] for each in info["capabilities"]],
        "activated_slaves": float(sum(each.is_active for each in agents)),
        "deactivated_slaves": float(sum(not each.is_active for each in agents)),
        "unreachable_slaves": float(len(master.agents.unreachable)),
        "leader": settings.pid,
        "leader_info": leader,
        "flags": dict(settings.flags),
        "slaves": [_agent(master, each) for each in agents],
        "recovered_slaves": list(master.agents.recovered.values()),
        "orphan_tasks": [],
    }
    if "domain" in info:
        found["domain"] = info["domain"]
    return found | frameworks(master, {})


def summary(master: MasterState) -> Document:
    """/state-summary."""
    agents, members = [], []
    for agent in master.agents:
        tasks = [task for found in agent.tasks.values() for task in found.values()]
        ids = {"framework_ids": list(reversed(agent.tasks))}
        agents.append(_agent(master, agent) | _counts(tasks) | ids)
    for framework in master.frameworks:
        tasks = [*framework.tasks.values(), *framework.completed]
        ids = {"slave_ids": list(dict.fromkeys(task.agent_id for task in tasks))}
        members.append(_framework_head(master, framework) | _counts(tasks) | ids)
    return {"hostname": master.settings.hostname, "slaves": agents, "frameworks": members}


def agents(master: MasterState, query: Mapping[str, str]) -> Document:
    """/slaves, of one agent with ``slave_id``."""
    wanted = query.get("slave_id")
    found = [each for each in master.agents if wanted in (None, each.id)]
    return {
        "slaves": [_full_agent(master, each) for each in found],
        "recovered_slaves": list(master.agents.recovered.values()),
    }


def frameworks(master: MasterState, query: Mapping[str, str]) -> Document:
    """/frameworks, of one framework with ``framework_id``."""
    wanted = query.get("framework_id")

    def shown(all_of: Iterable[Framework]) -> list[Document]:
        return [_framework(master, each) for each in all_of if wanted in (None, each.id)]

    return {
        "frameworks": shown(master.frameworks),
        "completed_frameworks": shown(master.frameworks.completed),
        "unregistered_frameworks": [],
    }


def tasks(master: MasterState, query: Mapping[str, str]) -> Document:
    """/tasks: newest first, with ``limit``, ``offset``, ``order``, and ids to select."""
    everything = [*master.frameworks, *master.frameworks.completed]
    found = [
        task
        for framework in everything
        if query.get("framework_id") in (None, framework.id)
        for task in (
            *reversed(list(framework.tasks.values())),
            *framework.unreachable.values(),
            *framework.completed,
        )
        if query.get("task_id") in (None, task.id)
    ]
    found.sort(key=_first_time, reverse=query.get("order") != "asc")
    offset, limit = _whole(query.get("offset"), 0), _whole(query.get("limit"), 100)
    return {"tasks": [_task(each) for each in found[offset : offset + limit]]}


def roles(master: MasterState) -> Document:
    """/roles."""
    return {"roles": [_role(master, each) for each in known_roles(master)]}


def weights(master: MasterState) -> list[Document]:
    """/weights."""
    return [{"role": role, "weight": weight} for role, weight in reversed(master.weights.items())]


def amounts(resources: ResourceList) -> Document:
    """Scalars as numbers, ranges and sets as texts; the usual scalars are always present."""
    found: Document = dict.fromkeys(("disk", "mem", "gpus", "cpus"), 0.0)
    for name, amount in resources.scalars().items():
        found[name] = amount / MILLI
    for item in resources.allocated(None).unreserved():
        if not isinstance(item.value, int):
            found[item.kind.name] = formats.value_text(item.value)
    return found


def _numbers(resources: ResourceList) -> dict[str, float]:
    return {name: amount / MILLI for name, amount in sorted(resources.quantities().items())}


def _role(master: MasterState, role: str) -> Document:
    quota = master.quotas.get(role, {})
    used = total(each.used.where(lambda kind: kind.allocated == role) for each in master.frameworks)
    offered = total(each.resources for each in master.offers if each.role == role)
    return {
        "name": role,
        "weight": master.weights.get(role, 1.0),
        "quota": {
            "role": role,
            "guarantee": _plain(quota.get("guarantees", {})),
            "limit": _plain(quota.get("limits", {})),
            "consumed": {
                name: amount / MILLI for name, amount in sorted(consumed(master, role).items())
            },
        },
        "resources": _numbers(held_by_role(master, role)),
        "allocated": _numbers(used),
        "offered": _numbers(offered),
        "reserved": _numbers(reserved_to(master, role)),
        "frameworks": [each.id for each in master.frameworks.in_role(role)],
    }


def _plain(scalars: Message) -> dict[str, float]:
    return {name: each["value"] for name, each in sorted(scalars.items())}


def _agent(master: MasterState, agent: Agent) -> Document:
    found: Document = {
        "id": agent.id,
        "hostname": agent.hostname,
        "port": agent.port,
        "attributes": {each["name"]: _attribute(each) for each in agent.info.get("attributes", ())},
        "pid": agent.pid,
        "registered_time": agent.registered_at,
        "resources": amounts(agent.total),
        "used_resources": amounts(total(agent.used.values())),
        "offered_resources": amounts(offered_on(master, agent)),
        "reserved_resources": {role: amounts(part) for role, part in _reserved(agent).items()},
        "unreserved_resources": amounts(_unreserved(agent)),
        "active": agent.is_active,
        "deactivated": agent.deactivated,
        "version": agent.version,
        "capabilities": list(agent.capabilities),
    }
    if agent.reregistered_at:
        found["reregistered_time"] = agent.reregistered_at
    if "domain" in agent.info:
        found["domain"] = agent.info["domain"]
    return found


def _full_agent(master: MasterState, agent: Agent) -> Document:
    def full(resources: ResourceList) -> list[Message]:
        return formats.write(resources, ResourceFormat.BOTH)

    return _agent(master, agent) | {
        "reserved_resources_full": {role: full(part) for role, part in _reserved(agent).items()},
        "unreserved_resources_full": full(_unreserved(agent)),
        "used_resources_full": full(total(agent.used.values())),
        "offered_resources_full": full(offered_on(master, agent)),
    }


def _reserved(agent: Agent) -> dict[str, ResourceList]:
    roles = dict.fromkeys(item.kind.role for item in agent.total if item.kind.reservations)
    return {
        role: agent.total.where(
            lambda kind, role=role: bool(kind.reservations) and kind.role == role  # type: ignore[misc]
        )
        for role in reversed(roles)
    }


def _unreserved(agent: Agent) -> ResourceList:
    return agent.total.where(lambda kind: not kind.reservations)


def _attribute(attribute: Message) -> Any:
    if "text" in attribute:
        return attribute["text"]["value"]
    if "scalar" in attribute:
        return attribute["scalar"]["value"]
    pairs = attribute.get("ranges", {}).get("range", ())
    return formats.value_text(tuple((each["begin"], each["end"]) for each in pairs))


def _framework_head(master: MasterState, framework: Framework) -> Document:
    info = framework.info
    offered = total(each.resources for each in master.offers.of_framework(framework.id))
    found: Document = {
        "id": framework.id,
        "name": info["name"],
        "used_resources": amounts(framework.used),
        "offered_resources": amounts(offered),
        "capabilities": [each["type"] for each in info.get("capabilities", ()) if "type" in each],
        "hostname": info.get("hostname", ""),
        "webui_url": info.get("webui_url", ""),
        "active": framework.active,
        "connected": framework.connected,
        "recovered": framework.recovered,
    }
    if "principal" in info:
        found["principal"] = info["principal"]
    return found


def _framework(master: MasterState, framework: Framework) -> Document:
    info = framework.info
    offers = master.offers.of_framework(framework.id)
    held = framework.used + total(each.resources for each in offers)
    found = _framework_head(master, framework) | {
        "user": info["user"],
        "failover_timeout": info.get("failover_timeout", 0.0),
        "checkpoint": info.get("checkpoint", False),
        "registered_time": framework.registered_at,
        "unregistered_time": framework.unregistered_at,
        "resources": amounts(held),
        "tasks": [_task(each) for each in reversed(list(framework.tasks.values()))],
        "unreachable_tasks": [_task(each) for each in framework.unreachable.values()],
        "completed_tasks": [_task(each) for each in framework.completed],
        "offers": [
            {
                "id": each.id,
                "framework_id": framework.id,
                "allocation_info": {"role": each.role},
                "slave_id": each.agent_id,
                "resources": amounts(each.resources),
            }
            for each in reversed(offers)
        ],
        "executors": [
            _executor(each, agent_id)
            for agent_id, executors in framework.executors.items()
            for each in reversed(list(executors.values()))
        ],
        "offer_constraints": framework.constraints,
    }
    if framework.reregistered_at > framework.registered_at:
        found["reregistered_time"] = framework.reregistered_at
    if "MULTI_ROLE" in framework.capabilities:
        found["roles"] = framework.roles
    else:
        found["role"] = framework.roles[0]
    if "labels" in info:
        found["labels"] = info["labels"].get("labels", [])
    return found


def _task(task: Task) -> Document:
    message = task.message()
    found: Document = {
        "id": task.id,
        "name": message["name"],
        "framework_id": task.framework_id,
        "executor_id": task.executor_id,
        "slave_id": task.agent_id,
        "state": task.state,
        "resources": amounts(task.resources),
        "role": task.role,
        "statuses": [_status(each) for each in task.statuses],
    }
    found |= {key: message[key] for key in ("user", "discovery", "container") if key in message}
    if "labels" in message:
        found["labels"] = message["labels"].get("labels", [])
    return found


def _status(status: Message) -> Document:
    found: Document = {"state": status["state"], "timestamp": status.get("timestamp", 0.0)}
    if "labels" in status:
        found["labels"] = status["labels"].get("labels", [])
    kept = ("container_status", "healthy")
    return found | {key: status[key] for key in kept if key in status}


def _executor(info: Message, agent_id: str) -> Document:
    found: Document = {
        "executor_id": info["executor_id"]["value"],
        "name": info.get("name", ""),
        "framework_id": info.get("framework_id", {}).get("value", ""),
        "command": _command(info.get("command", {})),
        "resources": amounts(formats.read(info.get("resources", ()))),
        "slave_id": agent_id,
    }
    first = next(iter(formats.read(info.get("resources", ()))), None)
    if first is not None:
        found["role"] = first.kind.allocated or "*"
    if "type" in info:
        found["type"] = info["type"]
    return found


def _command(command: Message) -> Document:
    found: Document = {
        "argv": command.get("arguments", []),
        "uris": [
            {"value": each["value"], "executable": each.get("executable", False)}
            for each in command.get("uris", ())
        ],
    }
    for key in ("value", "shell", "user", "environment"):
        if key in command:
            found[key] = command[key]
    return found


def _counts(tasks: Iterable[Task]) -> Document:
    counts = Counter(task.state for task in tasks)
    return {name: counts[name] for name in STATES}


def _first_time(task: Task) -> float:
    """Time of the first status of a task; 0 without a status."""
    return float(task.statuses[0].get("timestamp", 0.0)) if task.statuses else 0.0


def _whole(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isdigit() else default
