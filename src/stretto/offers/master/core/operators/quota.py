"""Quota and weights of roles."""

from collections.abc import Iterable, Mapping
from typing import Final

from stretto.base.amounts import add_amounts, covers, total_of
from stretto.offers.master.checks.resources import list_error
from stretto.offers.master.core import subjects
from stretto.offers.master.core.documents import known_roles, reserved_to
from stretto.offers.master.core.operators import rescinding
from stretto.offers.master.core.operators.rescinding import milli_of
from stretto.offers.master.core.operators.verdict import DONE, OperatorVerdict, bad, conflict
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.resources.items import total
from stretto.offers.master.roles import ancestors, is_below, role_error
from stretto.offers.messages.schema import Message

EXABYTE: Final = 1024**4
"""Maximum quota of memory and disk, in megabytes."""
TRILLION: Final = 10**12
"""Maximum quota of other resources."""


def update_quota(master: MasterState, configs: list[Message], force: bool) -> OperatorVerdict:
    """UPDATE_QUOTA: apply all configurations, or none of them."""
    for config in configs:
        if "/" in config["role"] and not master.allocator.has_nested_quota:
            return bad(f"Updating quota on nested role '{config['role']}' is not supported yet")
        error = _config_error(config)
        if error:
            return bad(f"Invalid QuotaConfig: {error}")
    error = _nesting_error(master, configs)
    if error:
        return bad(f"Invalid QuotaConfig: {error}")
    for config in configs:
        error = None if force else _consumption_error(master, config)
        if error:
            return bad(f"Invalid QuotaConfig: {error}")
    if not force:
        error = _capacity_error(master, configs)
        if error:
            return bad(
                f"Invalid QuotaConfig: total quota guarantees {error}"
                " (use 'force' flag to bypass this check)"
            )
    for config in configs:
        set_quota(master, config)
    rescinding.enforce(master, [config["role"] for config in configs])
    return DONE


def set_quota(master: MasterState, config: Message) -> None:
    """Apply a valid configuration."""
    master.quotas[config["role"]] = config
    master.changes.role(config["role"])
    master.allocator.set_quota(config["role"], subjects.role_quota(config))


def set_legacy(master: MasterState, request: Message) -> OperatorVerdict:
    """SET_QUOTA: set guarantee and limit to the same amounts."""
    role = request.get("role")
    error = _legacy_error(request)
    if error:
        return bad(f"Failed to validate set quota request: {error}")
    assert isinstance(role, str)
    if role in master.quotas:
        return bad(
            f"Failed to validate set quota request: Cannot set quota for role '{role}' which"
            " already has quota"
        )
    if "/" in role and not master.allocator.has_nested_quota:
        return bad(f"Setting quota on nested role '{role}' is not supported yet")
    amounts = {each["name"]: each["scalar"] for each in request["guarantee"]}
    config = {"role": role, "guarantees": amounts, "limits": dict(amounts)}
    error = _nesting_error(master, [config])
    if error:
        return bad(f"Failed to validate set quota request: {error}")
    error = None if request.get("force") else _capacity_error(master, [config])
    if error:
        return conflict(
            "Quota guarantees overcommit the cluster (use 'force' to bypass this check): Total"
            f" quota guarantees {error}"
        )
    set_quota(master, config)
    rescinding.free_guarantee(master, role, config)
    return DONE


def remove_legacy(master: MasterState, role: str) -> OperatorVerdict:
    """REMOVE_QUOTA."""
    if role not in master.quotas:
        return bad(f"Failed to remove quota: Role '{role}' has no quota set")
    del master.quotas[role]
    master.changes.role(role)
    master.allocator.set_quota(role, subjects.role_quota({"role": role}))
    return DONE


def update_weights(master: MasterState, infos: list[Message]) -> OperatorVerdict:
    """UPDATE_WEIGHTS: set weights; if a role has a framework, all offers are rescinded."""
    prefix = "Failed to validate update weights request JSON"
    for info in infos:
        role, weight = info.get("role", ""), info["weight"]
        error = role_error(role)
        if error:
            return bad(f"{prefix}: Invalid role '{role}': {error}")
        if not weight > 0:
            shown = formats.number_text(weight)
            return bad(
                f"{prefix} for role '{role}': Invalid weight '{shown}': Weights must be positive"
            )
    weights = {info.get("role", ""): info["weight"] for info in infos}
    master.weights.update(weights)
    for role in weights:
        master.changes.role(role)
    master.allocator.set_weights(weights)
    if any(master.frameworks.in_role(role) for role in weights):
        rescinding.rescind_everything(master)
    return DONE


def consumed(master: MasterState, role: str) -> dict[str, int]:
    """Consumption of quota by a role and its descendants, in thousandths.

    Reservations always count; unreserved capacity counts only while it is used.
    """
    roles = [each for each in known_roles(master) if each == role or is_below(each, role)]
    reserved = [reserved_to(master, role)]
    used = [
        framework.used.where(
            lambda kind: kind.allocated in roles and not kind.reservations and not kind.revocable
        )
        for framework in master.frameworks
    ]
    return total([*reserved, *used]).scalars()


def quota_status(master: MasterState) -> Message:
    """QuotaStatus: configurations, newest first, and their older form."""
    configs = list(reversed(master.quotas.values()))
    infos: list[Message] = []
    for config in configs:
        info: Message = {"role": config["role"]}
        legacy = config.get("guarantees", {})
        if legacy:
            info["guarantee"] = [
                {"name": name, "type": "SCALAR", "scalar": value}
                for name, value in sorted(legacy.items())
            ]
        infos.append(info)
    return {"infos": infos, "configs": configs} if configs else {}


def _config_error(config: Message) -> str | None:
    error = role_error(config["role"])
    if error:
        return f"Invalid 'QuotaConfig.role': {error}"
    for field in ("guarantees", "limits"):
        for name, scalar in config.get(field, {}).items():
            error = _too_large(name, scalar["value"])
            if error:
                return f"Invalid 'QuotaConfig.{field}': {error}"
    for field, noun in (("guarantees", "guarantee"), ("limits", "limit")):
        for name, scalar in config.get(field, {}).items():
            if scalar["value"] < 0:
                shown = formats.number_text(scalar["value"])
                return (
                    f"Invalid {noun} configuration {{'{name}': {shown}}}: Negative values not"
                    " supported"
                )
    guarantees, limits = config.get("guarantees", {}), config.get("limits", {})
    above = any(
        name in limits and scalar["value"] > limits[name]["value"]
        for name, scalar in guarantees.items()
    )
    if above:
        return (
            f"'QuotaConfig.guarantees' {_map_text(guarantees)} is not contained within the"
            f" 'QuotaConfig.limits' {_map_text(limits)}"
        )
    return None


def _too_large(name: str, value: float) -> str | None:
    large, words = (EXABYTE, "1 exabyte") if name in ("mem", "disk") else (TRILLION, "1 trillion")
    if value <= large:
        return None
    shown = formats.number_text(value)
    return (
        f"{{'{name}': {shown}}} is invalid: values greater than {words} ({large}) are not supported"
    )


def _map_text(amounts: Message) -> str:
    parts = (f"{name}: {formats.number_text(each['value'])}" for name, each in amounts.items())
    return "{ " + ", ".join(parts) + " }"


def _consumption_error(master: MasterState, config: Message) -> str | None:
    limits, used = milli_of(config.get("limits", {})), consumed(master, config["role"])
    if all(used.get(name, 0) <= limit for name, limit in limits.items()):
        return None
    return (
        f"Role '{config['role']}' is already consuming '{formats.quantities_text(used)}'; this is"
        f" more than the requested limits '{formats.quantities_text(limits)}' (use 'force' flag to"
        " bypass this check)"
    )


def _capacity_error(master: MasterState, configs: Iterable[Message]) -> str | None:
    """Error if the guarantees of all roles exceed the agents' capacity; ``None`` if they fit."""
    merged = master.quotas | {config["role"]: config for config in configs}
    guaranteed = _guaranteed(merged)
    wanted = total_of(guaranteed[role] for role in guaranteed if "/" not in role)
    agents = [agent.total.where(lambda kind: not kind.revocable) for agent in master.agents]
    capacity = total(agents).scalars()
    if covers(capacity, wanted):
        return None
    return (
        f"'{formats.quantities_text(wanted)}' exceed cluster capacity"
        f" '{formats.quantities_text(capacity)}'"
    )


def _nesting_error(master: MasterState, configs: Iterable[Message]) -> str | None:
    """Error if a role has a limit below the guarantees of the roles under it."""
    merged = master.quotas | {config["role"]: config for config in configs}
    guaranteed = _guaranteed(merged)
    for role, config in merged.items():
        limits = milli_of(config.get("limits", {}))
        if any(guaranteed[role].get(name, 0) > limit for name, limit in limits.items()):
            return (
                f"the guarantees of role '{role}' and the roles below it,"
                f" '{formats.quantities_text(guaranteed[role])}', exceed its limits"
                f" '{formats.quantities_text(limits)}'"
            )
    return None


def _guaranteed(quotas: Mapping[str, Message]) -> dict[str, dict[str, int]]:
    """Thousandths that each role guarantees, ancestors of roles with quota included.

    The guarantee of a role also covers the roles below it, so the larger of both counts.
    """
    found: dict[str, dict[str, int]] = {}
    roles = {*quotas, *(each for role in quotas for each in ancestors(role))}
    for role in sorted(roles, key=lambda each: each.count("/"), reverse=True):
        below = found.setdefault(role, {})
        for name, own in milli_of(quotas.get(role, {}).get("guarantees", {})).items():
            below[name] = max(own, below.get(name, 0))
        parent = role.rpartition("/")[0]
        if parent:
            add_amounts(found.setdefault(parent, {}), below.items())
    return found


def _legacy_error(request: Message) -> str | None:
    role, guarantee = request.get("role"), request.get("guarantee", [])
    error = list_error(guarantee)
    if error:
        return f"QuotaInfo with invalid resource: {error}"
    if role is None:
        return "QuotaInfo must specify a role"
    error = role_error(role)
    if error:
        return f"QuotaInfo with invalid role: {error}"
    if not guarantee:
        return "QuotaInfo with empty 'guarantee'"
    names: set[str] = set()
    for each in guarantee:
        if each.get("reservations") or each.get("role", "*") != "*":
            return "QuotaInfo must not contain any ReservationInfo"
        for key, noun in (("disk", "DiskInfo"), ("revocable", "RevocableInfo")):
            if key in each:
                return f"QuotaInfo must not contain {noun}"
        if each["type"] != "SCALAR":
            return "QuotaInfo must not include non-scalar resources"
        if each["name"] in names:
            return f"QuotaInfo contains duplicate resource name '{each['name']}'"
        names.add(each["name"])
    return None
