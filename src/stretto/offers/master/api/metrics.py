"""The master's metrics, under Mesos' names."""

from collections.abc import Iterator
from typing import Final

from stretto.offers.master.core.documents import held_by_role, known_roles
from stretto.offers.master.core.operators.quota import consumed
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources.items import MILLI, total
from stretto.offers.master.state.frameworks import Framework

OPERATIONS: Final = (
    "create",
    "create_disk",
    "destroy",
    "destroy_disk",
    "grow_volume",
    "reserve",
    "shrink_volume",
    "unreserve",
)
_OPERATION_STATES: Final = (
    "dropped",
    "error",
    "failed",
    "finished",
    "gone_by_operator",
    "pending",
    "recovering",
    "total",
    "unreachable",
)
_COUNTERS: Final = (
    "dropped_messages",
    "http_cache_hits",
    "invalid_executor_to_framework_messages",
    "invalid_framework_to_executor_messages",
    "invalid_operation_status_update_acknowledgements",
    "invalid_operation_status_updates",
    "invalid_status_update_acknowledgements",
    "invalid_status_updates",
    "messages_authenticate",
    "messages_deactivate_framework",
    "messages_decline_offers",
    "messages_executor_to_framework",
    "messages_exited_executor",
    "messages_framework_to_executor",
    "messages_kill_task",
    "messages_launch_tasks",
    "messages_operation_status_update",
    "messages_operation_status_update_acknowledgement",
    "messages_reconcile_operations",
    "messages_reconcile_tasks",
    "messages_register_framework",
    "messages_register_slave",
    "messages_reregister_framework",
    "messages_reregister_slave",
    "messages_resource_request",
    "messages_revive_offers",
    "messages_status_update",
    "messages_status_update_acknowledgement",
    "messages_suppress_offers",
    "messages_unregister_framework",
    "messages_unregister_slave",
    "messages_update_slave",
    "recovery_slave_removals",
    "slave_registrations",
    "slave_removals",
    "slave_removals/reason_registered",
    "slave_removals/reason_unhealthy",
    "slave_removals/reason_unregistered",
    "slave_reregistrations",
    "slave_shutdowns_canceled",
    "slave_shutdowns_completed",
    "slave_shutdowns_scheduled",
    "slave_unreachable_canceled",
    "slave_unreachable_completed",
    "slave_unreachable_scheduled",
    "tasks_dropped",
    "tasks_error",
    "tasks_failed",
    "tasks_finished",
    "tasks_gone",
    "tasks_gone_by_operator",
    "tasks_killed",
    "tasks_lost",
    "valid_executor_to_framework_messages",
    "valid_framework_to_executor_messages",
    "valid_operation_status_update_acknowledgements",
    "valid_operation_status_updates",
    "valid_status_update_acknowledgements",
    "valid_status_updates",
)
_CALLS: Final = (
    "accept",
    "accept_inverse_offers",
    "acknowledge",
    "acknowledge_operation_status",
    "decline",
    "decline_inverse_offers",
    "kill",
    "message",
    "reconcile",
    "reconcile_operations",
    "request",
    "revive",
    "shutdown",
    "subscribe",
    "suppress",
    "teardown",
    "update_framework",
)
_EVENTS: Final = (
    "error",
    "failure",
    "heartbeat",
    "inverse_offers",
    "message",
    "offers",
    "rescind",
    "rescind_inverse_offer",
    "subscribed",
    "update",
    "update_operation_status",
)
_ACTIVE: Final = ("killing", "running", "staging", "starting", "unknown", "unreachable")
_TERMINAL: Final = (
    "dropped",
    "error",
    "failed",
    "finished",
    "gone",
    "gone_by_operator",
    "killed",
    "lost",
)


def snapshot(master: MasterState) -> dict[str, float]:
    """All metrics by name."""
    found: dict[str, float] = {}
    for part in (_allocator, _roles, _resources, _population, _counters, _operations):
        found.update(part(master))
    for framework in master.frameworks:
        found.update(_framework(framework))
    return found


def _allocator(master: MasterState) -> Iterator[tuple[str, float]]:
    prefix = "allocator/mesos/resources"
    agents = total(agent.total for agent in master.agents).scalars()
    held = total(agent.held for agent in master.agents).scalars()
    for name in sorted({"cpus", "disk", "mem", *agents}):
        yield f"{prefix}/{name}/total", agents.get(name, 0) / MILLI
        yield f"{prefix}/{name}/offered_or_allocated", held.get(name, 0) / MILLI


def _roles(master: MasterState) -> Iterator[tuple[str, float]]:
    whole = total(agent.total for agent in master.agents).scalars()
    whole_pool: dict[str, int] = {}
    for role in known_roles(master):
        quota = master.quotas.get(role, {})
        prefix = f"allocator/mesos/quota/roles/{role}/resources"
        for field, metric in (("guarantees", "guarantee"), ("limits", "limit")):
            for name, amount in quota.get(field, {}).items():
                yield f"{prefix}/{name}/{metric}", amount["value"]
        for name, amount in consumed(master, role).items():
            yield f"{prefix}/{name}/consumed", amount / MILLI
            if "/" not in role:
                whole_pool[name] = whole_pool.get(name, 0) + amount
        if master.frameworks.in_role(role):
            held = held_by_role(master, role).scalars()
            shares = [held.get(name, 0) / amount for name, amount in whole.items() if amount]
            weight = master.weights.get(role, 1.0)
            yield f"allocator/mesos/roles/{role}/shares/dominant", max(shares, default=0) / weight
    for role, count in master.allocator.active_filters(master.now).items():
        yield f"allocator/mesos/offer_filters/roles/{role}/active", float(count)
    for name, amount in whole_pool.items():
        yield f"allocator/mesos/quota/roles//resources/{name}/consumed", amount / MILLI


def _resources(master: MasterState) -> Iterator[tuple[str, float]]:
    for suffix, revocable in (("", False), ("_revocable", True)):
        whole = total(
            agent.total.where(lambda kind, wanted=revocable: kind.revocable is wanted)  # type: ignore[misc]
            for agent in master.agents
        ).scalars()
        used = total(
            each.where(lambda kind, wanted=revocable: kind.revocable is wanted)  # type: ignore[misc]
            for agent in master.agents
            for each in agent.used.values()
        ).scalars()
        for name in ("cpus", "disk", "gpus", "mem"):
            have, taken = whole.get(name, 0), used.get(name, 0)
            yield f"master/{name}{suffix}_total", have / MILLI
            yield f"master/{name}{suffix}_used", taken / MILLI
            yield f"master/{name}{suffix}_percent", taken / have if have else 0.0


def _population(master: MasterState) -> Iterator[tuple[str, float]]:
    frameworks, agents = list(master.frameworks), list(master.agents)
    tasks = [task.state for each in frameworks for task in each.tasks.values()]
    for state in ("killing", "running", "staging", "starting"):
        yield f"master/tasks_{state}", float(tasks.count(f"TASK_{state.upper()}"))
    values = {
        "elected": 1,
        "uptime_secs": master.wall - master.started_at,
        "frameworks_active": sum(each.active for each in frameworks),
        "frameworks_connected": sum(each.connected for each in frameworks),
        "frameworks_disconnected": sum(not each.connected for each in frameworks),
        "frameworks_inactive": sum(not each.active for each in frameworks),
        "slaves_active": sum(each.is_active for each in agents),
        "slaves_connected": sum(each.connected for each in agents),
        "slaves_disconnected": sum(not each.connected for each in agents),
        "slaves_inactive": sum(not each.is_active for each in agents),
        "slaves_unreachable": len(master.agents.unreachable),
        "tasks_unreachable": sum(len(each.unreachable) for each in frameworks),
        "outstanding_offers": len(master.offers),
        "operator_event_stream_subscribers": len(master.subscribers),
    }
    for name, value in values.items():
        yield f"master/{name}", float(value)


def _counters(master: MasterState) -> Iterator[tuple[str, float]]:
    for name in _COUNTERS:
        yield f"master/{name}", float(master.counters[f"master/{name}"])
    yield "allocator/mesos/allocation_runs", float(master.counters["allocator/runs"])
    for name, count in master.counters.items():
        if name.startswith("stretto/"):
            yield name, float(count)


def _operations(master: MasterState) -> Iterator[tuple[str, float]]:
    for state in _OPERATION_STATES:
        counts = [master.counters[f"master/operations/{each}/{state}"] for each in OPERATIONS]
        for name, value in zip(OPERATIONS, counts, strict=True):
            yield f"master/operations/{name}/{state}", float(value)
        yield f"master/operations/{state}", float(sum(counts))


def _framework(framework: Framework) -> Iterator[tuple[str, float]]:
    prefix = f"master/frameworks/{framework.info['name']}/{framework.id}"
    counts = framework.counts
    suffixes = [
        "calls",
        "events",
        "operations",
        *(f"calls/{each}" for each in _CALLS),
        *(f"events/{each}" for each in _EVENTS),
        *(f"operations/{each}" for each in (*OPERATIONS, "launch", "launch_group")),
        *(f"offers/{each}" for each in ("accepted", "declined", "rescinded", "sent")),
        *(f"tasks/terminal/task_{each}" for each in _TERMINAL),
    ]
    for suffix in suffixes:
        yield f"{prefix}/{suffix}", float(counts.get(suffix, 0))
    states = [task.state.lower() for task in framework.tasks.values()]
    for each in _ACTIVE:
        yield f"{prefix}/tasks/active/task_{each}", float(states.count(f"task_{each}"))
    for role in framework.roles:
        yield f"{prefix}/roles/{role}/suppressed", float(role in framework.suppressed)
    yield f"{prefix}/subscribed", float(framework.connected)
