"""Subscription, return, update and removal of frameworks."""

from typing import NamedTuple

from stretto.offers.master.checks import frameworks as checks
from stretto.offers.master.core import offering, subjects, updates
from stretto.offers.master.core.documents import framework_event
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.master.state.outbox import ClientStream
from stretto.offers.messages.schema import Message


class SubscriptionTerms(NamedTuple):
    """The contents of SUBSCRIBE and UPDATE_FRAMEWORK."""

    #: FrameworkInfo.
    info: Message
    #: Roles without offers.
    suppressed: list[str]
    #: OfferConstraints.
    constraints: Message


def subscription_of(body: Message) -> SubscriptionTerms:
    """The subscription in the body of a call."""
    return SubscriptionTerms(
        body["framework_info"], body.get("suppressed_roles", []), body.get("offer_constraints", {})
    )


def subscribe(master: MasterState, wanted: SubscriptionTerms, stream: ClientStream) -> None:
    """Subscribe a framework; a refusal is an ERROR event followed by the end of the stream."""
    error = checks.subscription_error(wanted.info, wanted.suppressed, wanted.constraints)
    framework_id = wanted.info.get("id", {}).get("value", "")
    if not error and master.frameworks.is_completed(framework_id):
        error = "Framework has been removed"
    if error:
        refuse(master, stream, error)
    elif framework_id:
        _return(master, wanted, stream)
    else:
        _register(master, wanted, stream)


def refuse(master: MasterState, stream: ClientStream, error: str) -> None:
    """Answer a subscription with an error."""
    master.outbox.event(stream, {"type": "ERROR", "error": {"message": error}})
    master.outbox.end(stream)


def update(master: MasterState, framework: Framework, wanted: SubscriptionTerms) -> str | None:
    """UPDATE_FRAMEWORK: update a framework; return the error of an invalid update."""
    error = checks.info_error(wanted.info) or checks.suppressed_error(
        wanted.info, wanted.suppressed
    )
    if error:
        return f"Supplied FrameworkInfo is not valid: {error}"
    error = checks.update_error(framework.info, wanted.info)
    if error:
        return f"FrameworkInfo update is not valid: {error}"
    error = checks.constraints_error(wanted.constraints)
    if error:
        return f"'UpdateFramework.offer_constraints' are not valid: {error}"
    changed = framework.info != wanted.info
    _take(master, framework, wanted)
    if changed:
        _tell_agents(master, framework)
    return None


def disconnected(master: MasterState, stream: ClientStream) -> None:
    """Handle a stream that its client closed; the framework may return within its time-out."""
    framework = next((each for each in master.frameworks if each.stream == stream), None)
    if framework is None:
        return
    framework.disconnect()
    master.changed(framework)
    deactivate(master, framework)
    wait_for_return(master, framework, framework.failover_timeout)


def wait_for_return(master: MasterState, framework: Framework, seconds: float) -> None:
    """Remove a framework unless it subscribes in time."""
    generation = framework.generation

    def expire() -> None:
        if framework.generation == generation:
            remove(master, framework)

    master.timers.at(master.now + max(0.0, seconds), expire)


def deactivate(master: MasterState, framework: Framework) -> None:
    """Stop offers to a framework and rescind outstanding ones."""
    master.allocator.set_framework_active(framework.id, False)
    for offer in master.offers.of_framework(framework.id):
        offering.discard(master, offer)
    for inverse in master.offers.inverse_where(framework_id=framework.id):
        offering.withdraw_inverse(master, inverse, tell=False)


def remove(master: MasterState, framework: Framework) -> None:
    """Remove a framework: its tasks are killed and its id is never used again."""
    stream = framework.stream
    deactivate(master, framework)
    for agent in master.agents:
        message = {"framework_id": {"value": framework.id}}
        master.outbox.agent(agent.pid, "ShutdownFrameworkMessage", message)
    text = f"Framework {framework.id} removed"
    for task in [*framework.tasks.values(), *framework.unreachable.values()]:
        updates.end_by_master(master, task, "TASK_KILLED", text, "REASON_FRAMEWORK_REMOVED")
        updates.forget(master, task)
    for agent_id, executors in list(framework.executors.items()):
        holder = master.agents.get(agent_id)
        for executor_id in list(executors) if holder is not None else ():
            assert holder is not None
            updates.remove_executor(master, holder, framework.id, executor_id)
    framework.end(master.wall)
    master.frameworks.complete(framework)
    master.changed(framework)
    master.allocator.remove_framework(framework.id)
    if stream is not None:
        master.outbox.end(stream)
    body = {"framework_info": framework.info}
    master.publish({"type": "FRAMEWORK_REMOVED", "framework_removed": body})


def restore(master: MasterState, info: Message, suppressed: list[str]) -> Framework:
    """Add a framework from storage or from reports of agents, without a stream."""
    framework = Framework(info, master.wall)
    framework.update(info, suppressed, {})
    framework.recover()
    master.changed(framework)
    master.frameworks.add(framework)
    master.allocator.add_framework(subjects.framework_info(framework), suppressed, active=False)
    return framework


def _register(master: MasterState, wanted: SubscriptionTerms, stream: ClientStream) -> None:
    """Register a framework without an id."""
    info = wanted.info | {"id": {"value": master.next_framework_id()}}
    framework = Framework(info, master.wall)
    framework.update(info, wanted.suppressed, wanted.constraints)
    master.frameworks.add(framework)
    framework.connect(stream, master.wall)
    master.changed(framework)
    master.counters["master/messages_register_framework"] += 1
    master.allocator.add_framework(subjects.framework_info(framework), wanted.suppressed)
    _welcome(master, framework)
    event = framework_event(framework)
    master.publish({"type": "FRAMEWORK_ADDED", "framework_added": {"framework": event}})


def _return(master: MasterState, wanted: SubscriptionTerms, stream: ClientStream) -> None:
    """Accept a framework with an id: a fail-over, a reconnection, or one of an earlier master."""
    framework_id = wanted.info["id"]["value"]
    framework = master.frameworks.get(framework_id)
    if framework is None:
        framework = restore(master, wanted.info, wanted.suppressed)
    kept = {"user": framework.info["user"]}
    if "checkpoint" in framework.info or wanted.info.get("checkpoint"):
        kept["checkpoint"] = framework.info.get("checkpoint", False)
    info = wanted.info | kept
    error = checks.update_error(framework.info, info)
    if error:
        refuse(master, stream, error)
        return
    master.counters["master/messages_reregister_framework"] += 1
    _take(master, framework, wanted._replace(info=info))
    if framework.stream is not None:
        refuse(master, framework.stream, "Framework failed over")
    was_active = framework.active
    for offer in master.offers.of_framework(framework.id):
        offering.discard(master, offer)
    for inverse in master.offers.inverse_where(framework_id=framework.id):
        offering.withdraw_inverse(master, inverse, tell=False)
    framework.connect(stream, master.wall)
    if not was_active:
        master.allocator.set_framework_active(framework.id, True)
    _welcome(master, framework)
    _tell_agents(master, framework)


def _take(master: MasterState, framework: Framework, wanted: SubscriptionTerms) -> None:
    """Apply a new FrameworkInfo; offers of dropped roles are rescinded."""
    framework.update(*wanted)
    master.changed(framework)
    master.allocator.update_framework(subjects.framework_info(framework), wanted.suppressed)
    for offer in master.offers.of_framework(framework.id):
        if offer.role not in framework.roles:
            offering.rescind(master, offer)


def _tell_agents(master: MasterState, framework: Framework) -> None:
    for agent in master.agents:
        message = {
            "framework_id": {"value": framework.id},
            "pid": "",
            "framework_info": framework.info,
        }
        master.outbox.agent(agent.pid, "UpdateFrameworkMessage", message)
    event = framework_event(framework)
    master.publish({"type": "FRAMEWORK_UPDATED", "framework_updated": {"framework": event}})


def _welcome(master: MasterState, framework: Framework) -> None:
    """Send SUBSCRIBED and the first HEARTBEAT; a timer sends the others."""
    framework.count("subscribed_streams")
    subscribed = {
        "framework_id": {"value": framework.id},
        "heartbeat_interval_seconds": master.settings.heartbeat_interval,
        "master_info": master.master_info(),
    }
    master.send(framework, {"type": "SUBSCRIBED", "subscribed": subscribed})
    _beat(master, framework, framework.generation)


def _beat(master: MasterState, framework: Framework, generation: int) -> None:
    if framework.generation == generation and framework.connected:
        master.send(framework, {"type": "HEARTBEAT"})
        due = master.now + master.settings.heartbeat_interval
        master.timers.at(due, lambda: _beat(master, framework, generation))
