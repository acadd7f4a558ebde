"""Checks of operations on resources: reservations and volumes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from stretto.offers.master.checks import resources as checks
from stretto.offers.master.resources import formats
from stretto.offers.master.resources.items import ResourceList
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.messages.schema import Message


class OperationContext(NamedTuple):
    """Agent and client of an operation."""

    #: The agent.
    agent: Agent
    #: The framework; ``None`` for an operator.
    framework: Framework | None = None
    #: The principal of the client; ``None`` without authentication.
    principal: str | None = None


def reserve_error(reserve: Message, on: OperationContext) -> str | None:
    """Error in a RESERVE, of an operator if there is no framework; ``None`` if it is valid."""
    messages = reserve.get("resources", [])
    error = _common_error(messages)
    if error:
        return error
    for message in messages:
        error = (
            _dynamic_error(message)
            or _agent_error(message, on.agent)
            or _principal_error(message, on.principal)
            or _role_error(message, on.framework)
        )
        if error:
            return error
    return _single_role_error(messages, on, "reservation")


def unreserve_error(unreserve: Message, on: OperationContext) -> str | None:
    """Error in an UNRESERVE; ``None`` if it is valid."""
    del on
    messages = unreserve.get("resources", [])
    error = _common_error(messages)
    if error:
        return error
    for message in messages:
        error = _dynamic_error(message)
        if error:
            return error
        if "persistence" in message.get("disk", {}):
            return (
                f"A dynamically reserved persistent volume {formats.message_text(message)} cannot"
                " be unreserved directly. Please destroy the persistent volume first then unreserve"
                " the resource"
            )
    return None


def _volumes_error(volumes: list[Message]) -> str | None:
    """Error in the volumes of a CREATE or DESTROY, independent of the state."""
    error = _common_error(volumes)
    if error:
        return error
    error = checks.volumes_error(volumes)
    return f"Not a persistent volume: {error}" if error else None


def create_error(create: Message, on: OperationContext) -> str | None:
    """Error in a CREATE; ``None`` if it is valid."""
    volumes = create.get("volumes", [])
    error = _volumes_error(volumes)
    if error:
        return error
    wanted = formats.read(volumes).allocated(None)
    error = checks.unique_volumes_error(on.agent.checkpointed + wanted)
    if error:
        return error
    for volume in volumes:
        error = _shared_error(volume, on.framework) or _volume_principal_error(volume, on.principal)
        if error:
            return error
    return _single_role_error(volumes, on, "volume")


def destroy_error(destroy: Message, on: OperationContext) -> str | None:
    """Error in a DESTROY; ``None`` if it is valid."""
    volumes = destroy.get("volumes", [])
    error = _volumes_error(volumes)
    if error:
        return error
    wanted = formats.read(volumes).allocated(None)
    single = [ResourceList((item,)) for item in wanted]
    if not all(
        item.items[0].kind.provider or on.agent.checkpointed.contains(item) for item in single
    ):
        return "Persistent volumes not found"
    used = [each.allocated(None) for each in on.agent.used.values()]
    if any(each.contains(item) for each in used for item in single):
        return "Persistent volumes in use"
    return None


def grow_error(grow: Message, on: OperationContext) -> str | None:
    """Error in a GROW_VOLUME; ``None`` if it is valid."""
    volume, addition = grow["volume"], grow["addition"]
    for name, message in (("volume", volume), ("addition", addition)):
        error = checks.resource_error(message)
        if error:
            return f"Invalid resource in the 'GrowVolume.{name}' field: {error}"
    if formats.milli(addition.get("scalar", {}).get("value", 0.0)) <= 0:
        return "The size of 'GrowVolume.addition' field must be greater than zero"
    error = _resize_error(volume, "Grow", "Growing")
    if error:
        return error
    plain = formats.read([formats.without_volume(volume)]) + formats.read([addition])
    if len(plain.items) != 1:
        return "Incompatible resources in the 'GrowVolume.volume' and 'GrowVolume.addition' fields"
    return _capability_error(volume, on.agent, "grown")


def shrink_error(shrink: Message, on: OperationContext) -> str | None:
    """Error in a SHRINK_VOLUME; ``None`` if it is valid."""
    volume = shrink["volume"]
    error = checks.resource_error(volume)
    if error:
        return f"Invalid resource in the 'ShrinkVolume.volume' field: {error}"
    less = formats.milli(shrink["subtract"]["value"])
    if less <= 0:
        return "Value of 'ShrinkVolume.subtract' must be greater than zero"
    if formats.milli(volume.get("scalar", {}).get("value", 0.0)) <= less:
        return (
            "Value of 'ShrinkVolume.subtract' must be smaller than the size of"
            " 'ShrinkVolume.volume'"
        )
    if volume.get("disk", {}).get("source", {}).get("type") == "MOUNT":
        return "Shrinking a volume on a MOUNT disk is not supported"
    return _resize_error(volume, "Shrink", "Shrinking") or _capability_error(
        volume, on.agent, "shrunk"
    )


def _common_error(messages: Sequence[Message]) -> str | None:
    error = checks.use_error(messages) or checks.providers_error(messages)
    return f"Invalid resources: {error}" if error else None


def _single_role_error(messages: list[Message], on: OperationContext, what: str) -> str | None:
    """Why resources of a framework are invalid together: they are allocated to several roles."""
    error = checks.single_role_error(messages) if on.framework is not None else None
    return f"Invalid {what} resources: {error}" if error else None


def _dynamic_error(message: Message) -> str | None:
    (item,) = formats.read([message]).items or (None,)
    if item is not None and item.kind.dynamic:
        return None
    return f"Resource {formats.message_text(message)} is not dynamically reserved"


def _agent_error(message: Message, agent: Agent) -> str | None:
    (item,) = formats.read([message]).items
    text = f"Resource {formats.item_text(item)}"
    if "/" in item.kind.role and not agent.has("HIERARCHICAL_ROLE"):
        return (
            f"{text} with reservation for hierarchical role '{item.kind.role}' cannot be reserved"
            " on an agent without HIERARCHICAL_ROLE capability"
        )
    if len(item.kind.reservations) > 1 and not agent.has("RESERVATION_REFINEMENT"):
        return (
            f"{text} with reservation refinement cannot be reserved on an agent without"
            " RESERVATION_REFINEMENT capability"
        )
    return None


def _principal_error(message: Message, principal: str | None) -> str | None:
    if principal is None:
        return None
    given = formats.upgraded(message)["reservations"][-1].get("principal")
    if given is None:
        return (
            f"A reserve operation was attempted by principal '{principal}', but there is a reserved"
            " resource in the request with no principal set"
        )
    if given != principal:
        return (
            f"A reserve operation was attempted by authenticated principal '{principal}', which"
            f" does not match a reserved resource in the request with principal '{given}'"
        )
    return None


def _role_error(message: Message, framework: Framework | None) -> str | None:
    allocated = message.get("allocation_info", {}).get("role")
    if framework is None:
        if allocated is None:
            return None
        return (
            "A reserve operation was attempted with an allocated resource, but the operator API"
            " only allows reservations to be made to unallocated resources"
        )
    (item,) = formats.read([message]).items
    if allocated is None:
        return (
            f"A reserve operation was attempted on unallocated resource {formats.item_text(item)},"
            " but frameworks can only perform reservations on allocated resources"
        )
    if allocated != item.kind.role:
        return (
            f"A reserve operation was attempted for a resource with role '{item.kind.role}', but"
            f" the resource was allocated to role '{allocated}'"
        )
    if allocated not in framework.roles:
        return (
            f"A reserve operation was attempted for a resource allocated to role '{allocated}', but"
            f" the framework only has roles '{{ {', '.join(framework.roles)} }}'"
        )
    return None


def _shared_error(volume: Message, framework: Framework | None) -> str | None:
    if framework is None or "shared" not in volume:
        return None
    if "SHARED_RESOURCES" in framework.capabilities:
        return None
    return (
        f"Create volume operation for '{formats.message_text(volume)}' has been attempted by"
        f" framework '{framework.id}' with no SHARED_RESOURCES capability"
    )


def _volume_principal_error(volume: Message, principal: str | None) -> str | None:
    if principal is None:
        return None
    given = volume["disk"]["persistence"].get("principal")
    if given is None:
        return (
            f"Create volume operation attempted by principal '{principal}', but there is a volume"
            " in the operation with no principal set in 'disk.persistence'"
        )
    if given != principal:
        return (
            f"Create volume operation attempted by authenticated principal '{principal}', which"
            f" does not match a volume in the operation with principal '{given}' set in"
            " 'disk.persistence'"
        )
    return None


def _resize_error(volume: Message, message: str, verb: str) -> str | None:
    if "provider_id" in volume:
        return f"{verb} a volume from a resource provider is not supported"
    error = checks.volumes_error([volume])
    if error:
        return f"Invalid persistent volume in the '{message}Volume.volume' field: {error}"
    return f"{verb} a shared persistent volume is not supported" if "shared" in volume else None


def _capability_error(volume: Message, agent: Agent, verb: str) -> str | None:
    if agent.has("RESIZE_VOLUME"):
        return None
    return (
        f"Volume {formats.message_text(volume)} cannot be {verb} on an agent without RESIZE_VOLUME"
        " capability"
    )


OPERATION_CHECKS: Final[Mapping[str, Callable[[Message, OperationContext], str | None]]] = {
    "RESERVE": reserve_error,
    "UNRESERVE": unreserve_error,
    "CREATE": create_error,
    "DESTROY": destroy_error,
    "GROW_VOLUME": grow_error,
    "SHRINK_VOLUME": shrink_error,
}
"""Checks of operations on resources, by type."""
