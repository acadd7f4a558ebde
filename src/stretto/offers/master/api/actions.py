"""Calls of operators that change the state."""

from collections.abc import Callable, Mapping
from typing import Final

from stretto.offers.master.core.frameworks import subscriptions
from stretto.offers.master.core.operators import agents, maintenance, quota, resources
from stretto.offers.master.core.operators.verdict import OperatorVerdict, bad
from stretto.offers.master.core.state import MasterState
from stretto.offers.messages.schema import Message

Action = Callable[[MasterState, Message, str | None], OperatorVerdict]
"""Function that handles a body for a principal."""


def _set_level(master: MasterState, body: Message, principal: str | None) -> OperatorVerdict:
    del principal
    level = body["level"]
    master.set_logging_level(level)
    seconds = body.get("duration", {}).get("nanoseconds", 0) / 1e9
    master.timers.at(master.now + seconds, lambda: master.set_logging_level(0))
    return OperatorVerdict()


def _operation(kind: str, field: str) -> Action:
    """An action that applies an operation to free resources."""

    def act(master: MasterState, body: Message, principal: str | None) -> OperatorVerdict:
        moved = {field: body.get(field, [])}
        if body.get("source"):
            moved["source"] = body["source"]
        operation = {"type": kind, kind.lower(): moved}
        return resources.apply(master, body["agent_id"]["value"], operation, principal)

    return act


def _resize(kind: str) -> Action:
    def act(master: MasterState, body: Message, principal: str | None) -> OperatorVerdict:
        moved = {key: value for key, value in body.items() if key != "agent_id"}
        operation = {"type": kind, kind.lower(): moved}
        return resources.apply(master, body["agent_id"]["value"], operation, principal)

    return act


def teardown(master: MasterState, framework_id: str) -> OperatorVerdict:
    """TEARDOWN of a framework by an operator."""
    framework = master.frameworks.get(framework_id)
    if framework is None:
        return bad("No framework found with specified ID")
    subscriptions.remove(master, framework)
    return OperatorVerdict()


ACTIONS: Final[Mapping[str, Action]] = {
    "SET_LOGGING_LEVEL": _set_level,
    "UPDATE_WEIGHTS": lambda master, body, _: quota.update_weights(
        master, body.get("weight_infos", [])
    ),
    "UPDATE_QUOTA": lambda master, body, _: quota.update_quota(
        master, body.get("quota_configs", []), body.get("force", False)
    ),
    "SET_QUOTA": lambda master, body, _: quota.set_legacy(master, body["quota_request"]),
    "REMOVE_QUOTA": lambda master, body, _: quota.remove_legacy(master, body["role"]),
    "RESERVE_RESOURCES": _operation("RESERVE", "resources"),
    "UNRESERVE_RESOURCES": _operation("UNRESERVE", "resources"),
    "CREATE_VOLUMES": _operation("CREATE", "volumes"),
    "DESTROY_VOLUMES": _operation("DESTROY", "volumes"),
    "GROW_VOLUME": _resize("GROW_VOLUME"),
    "SHRINK_VOLUME": _resize("SHRINK_VOLUME"),
    "UPDATE_MAINTENANCE_SCHEDULE": lambda master, body, _: maintenance.update_schedule(
        master, body["schedule"]
    ),
    "START_MAINTENANCE": lambda master, body, _: maintenance.start(
        master, body.get("machines", [])
    ),
    "STOP_MAINTENANCE": lambda master, body, _: maintenance.stop(master, body.get("machines", [])),
    "TEARDOWN": lambda master, body, _: teardown(master, body["framework_id"]["value"]),
    "MARK_AGENT_GONE": lambda master, body, _: agents.mark_gone(master, body["agent_id"]["value"]),
    "DRAIN_AGENT": lambda master, body, _: agents.drain(master, body),
    "DEACTIVATE_AGENT": lambda master, body, _: agents.deactivate(
        master, body["agent_id"]["value"]
    ),
    "REACTIVATE_AGENT": lambda master, body, _: agents.reactivate(
        master, body["agent_id"]["value"]
    ),
}
"""Actions by type of the call."""
