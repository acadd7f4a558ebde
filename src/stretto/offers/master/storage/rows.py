"""Entities as rows of JSON."""

from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.changes import EntityKind
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.master.state.machines import MachineMode, machine_message
from stretto.offers.messages.schema import Message


def row(master: MasterState, kind: EntityKind, key: str) -> Message | None:
    """The row of an entity; ``None`` if the entity was removed."""
    if kind is EntityKind.FRAMEWORK:
        return _framework(master, key)
    if kind is EntityKind.AGENT:
        agent = master.agents.get(key)
        return None if agent is None or not _is_stored(agent) else _agent(agent)
    if kind is EntityKind.TASK:
        return _task(master, key)
    if kind is EntityKind.ROLE:
        found: Message = {}
        if key in master.quotas:
            found["quota"] = master.quotas[key]
        if key in master.weights:
            found["weight"] = master.weights[key]
        return found or None
    if kind is EntityKind.MACHINES:
        down = [machine_message(each) for each in master.machines.in_mode(MachineMode.DOWN)]
        return {"windows": master.machines.windows, "down": down}
    return _absence(master, key)


def _framework(master: MasterState, key: str) -> Message | None:
    framework = master.frameworks.get(key)
    if framework is not None:
        return _framework_row(framework) | {"completed": False}
    gone = next((each for each in master.frameworks.completed if each.id == key), None)
    return None if gone is None else _framework_row(gone) | {"completed": True}


def _framework_row(framework: Framework) -> Message:
    return {
        "info": framework.info,
        "suppressed": framework.suppressed,
        "constraints": framework.constraints,
        "registered_at": framework.registered_at,
        "unregistered_at": framework.unregistered_at,
    }


def _is_stored(agent: Agent) -> bool:
    """True if a restarted master must know an agent before the agent registers."""
    return not agent.is_derived or bool(agent.tasks or agent.checkpointed or agent.deactivated)


def _agent(agent: Agent) -> Message:
    return {
        "derived": agent.is_derived,
        "info": agent.info,
        "pid": agent.pid,
        "version": agent.version,
        "capabilities": agent.capabilities,
        "total": formats.write(agent.total),
        "executors": agent.executors,
        "deactivated": agent.deactivated,
        "drain": None if agent.drain is None else agent.drain.config,
        "registered_at": agent.registered_at,
    }


def _task(master: MasterState, key: str) -> Message | None:
    framework_id, _, task_id = key.partition("\n")
    framework = master.frameworks.get(framework_id)
    if framework is None:
        return None
    task = framework.tasks.get(task_id) or framework.unreachable.get(task_id)
    return None if task is None else task.row


def _absence(master: MasterState, key: str) -> Message | None:
    agents = master.agents
    if key in agents.gone:
        return {"gone": agents.gone[key]}
    return {"unreachable": agents.unreachable[key]} if key in agents.unreachable else None
