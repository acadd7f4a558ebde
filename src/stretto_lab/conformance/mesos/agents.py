"""The agents of a session, from its events and answers.

A recording contains the name and the id of an agent. The resources of its registration are in the
first complete offer, or in GET_AGENTS.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from stretto.offers.messages import text
from stretto.offers.messages.schema import Message
from stretto_lab.conformance.mesos.sessions import WireSession

PORT: Final = 5051
"""The port of all agents."""
CAPABILITIES: Final = (
    "MULTI_ROLE",
    "HIERARCHICAL_ROLE",
    "RESERVATION_REFINEMENT",
    "RESIZE_VOLUME",
    "AGENT_OPERATION_FEEDBACK",
    "AGENT_DRAINING",
    "TASK_RESOURCE_LIMITS",
)
"""Capabilities of the recorded agents; an agent called old has only the first."""
_DEFAULT: Final = [{"name": "cpus", "type": "SCALAR", "scalar": {"value": 1.0}}]


def registration(session: WireSession, hostname: str, ids: tuple[str, str]) -> Message:
    """The RegisterSlaveMessage of an agent, by its id with and without placeholders."""
    info: Message = {"hostname": hostname, "port": PORT}
    shown = _largest(session, ids)
    info["resources"] = _ordered(shown.get("resources", _DEFAULT))
    info |= {key: shown[key] for key in ("attributes", "domain") if key in shown}
    names = CAPABILITIES[:1] if hostname.startswith("old") else CAPABILITIES
    message = {
        "slave": info,
        "version": "1.11.0",
        "agent_capabilities": [{"type": name} for name in names],
    }
    return text.read("agent.RegisterSlaveMessage", message)


def _largest(session: WireSession, ids: tuple[str, str]) -> Message:
    """The offer of an agent with the most resources, in the newest format if there is one."""
    found = [each for each in _offers(session) if each["agent_id"]["value"] in ids]

    def weight(offer: Message) -> tuple[bool, float]:
        resources = offer["resources"]
        refined = not any("role" in each for each in resources)
        return refined, sum(each.get("scalar", {}).get("value", 0.0) for each in resources)

    return max(found, key=weight, default={})


def _offers(session: WireSession) -> Iterator[Message]:
    for record in session.records:
        for events in record.events.values():
            for event in _items(events):
                body = event.get("json", event)
                yield from body.get("offers", {}).get("offers", ())


def _items(events: Any) -> list[Any]:
    if isinstance(events, Mapping):
        found: list[Any] = events["${UNORDERED}"]
        return found
    return list(events)


def _ordered(resources: list[Message]) -> list[Message]:
    """Unreserved scalars, then the others, without the allocation and dynamic reservations."""
    plain = [
        {key: value for key, value in each.items() if key not in ("allocation_info", "role")}
        for each in resources
    ]
    kept = [each for each in plain if _is_own(each)]
    return sorted(kept, key=lambda each: each["type"] != "SCALAR" or bool(each.get("reservations")))


def _is_own(resource: Message) -> bool:
    stack = resource.get("reservations", ())
    return not any(each.get("type") == "DYNAMIC" for each in stack)
