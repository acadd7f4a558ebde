"""Actions and objects of operators' calls, for access control."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.messages.schema import Message

Objects = Callable[[MasterState, Message], Iterable[str]]
"""Function that returns the objects in the body of a call."""


def permitted(master: MasterState, kind: str, body: Message, principal: str | None) -> bool:
    """True if a principal may make a call."""
    found = CALLS.get(kind)
    if found is None:
        return True
    action, objects = found
    return master.settings.acls.allows(action, principal, objects(master, body))


def _reserved(field: str) -> Objects:
    def roles(_: MasterState, body: Message) -> Iterable[str]:
        found = body.get(field, [])
        listed = found if isinstance(found, list) else [found]
        upgraded = [formats.upgraded(each) for each in listed]
        return {each.get("reservations", [{}])[-1].get("role", "*") for each in upgraded}

    return roles


def _machines(_: MasterState, body: Message) -> Iterable[str]:
    windows = body.get("schedule", {}).get("windows", ())
    listed = [each for window in windows for each in window.get("machine_ids", ())]
    return {each.get("hostname", "") for each in [*listed, *body.get("machines", ())]}


def _agent(_: MasterState, body: Message) -> Iterable[str]:
    return [body["agent_id"]["value"]]


def _framework(master: MasterState, body: Message) -> Iterable[str]:
    framework = master.frameworks.get(body["framework_id"]["value"])
    return [framework.info.get("principal", "")] if framework is not None else []


def _roles(field: str) -> Objects:
    return lambda _, body: [each.get("role", "") for each in body.get(field, ())]


CALLS: Final[Mapping[str, tuple[str, Objects]]] = {
    "UPDATE_QUOTA": ("update_quotas", _roles("quota_configs")),
    "SET_QUOTA": ("update_quotas", lambda _, body: [body["quota_request"].get("role", "")]),
    "REMOVE_QUOTA": ("update_quotas", lambda _, body: [body["role"]]),
    "UPDATE_WEIGHTS": ("update_weights", _roles("weight_infos")),
    "RESERVE_RESOURCES": ("reserve_resources", _reserved("resources")),
    "UNRESERVE_RESOURCES": ("unreserve_resources", _reserved("resources")),
    "CREATE_VOLUMES": ("create_volumes", _reserved("volumes")),
    "DESTROY_VOLUMES": ("destroy_volumes", _reserved("volumes")),
    "GROW_VOLUME": ("resize_volumes", _reserved("volume")),
    "SHRINK_VOLUME": ("resize_volumes", _reserved("volume")),
    "TEARDOWN": ("teardown_frameworks", _framework),
    "UPDATE_MAINTENANCE_SCHEDULE": ("update_maintenance_schedules", _machines),
    "START_MAINTENANCE": ("start_maintenances", _machines),
    "STOP_MAINTENANCE": ("stop_maintenances", _machines),
    "MARK_AGENT_GONE": ("mark_agents_gone", _agent),
    "DRAIN_AGENT": ("drain_agents", _agent),
    "DEACTIVATE_AGENT": ("deactivate_agents", _agent),
    "REACTIVATE_AGENT": ("reactivate_agents", _agent),
    "SET_LOGGING_LEVEL": ("set_log_level", lambda _, body: [f"{body['level']}"]),
}
"""Actions and objects by call; other calls only read."""
