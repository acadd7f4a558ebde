"""Calls of frameworks except ACCEPT."""

from collections.abc import Callable, Mapping
from typing import Final

from stretto.offers.allocator.contract import Holding
from stretto.offers.master.core import offering, subjects, updates
from stretto.offers.master.core.frameworks import subscriptions
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.roles import role_error
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.master.state.tasks import Task, master_status
from stretto.offers.messages.schema import Message

Handler = Callable[[MasterState, Framework, Message], None]
"""Function that handles the body of one call."""


def decline(master: MasterState, framework: Framework, body: Message) -> None:
    """DECLINE: end the offers and install filters."""
    master.counters["master/messages_decline_offers"] += 1
    refuse = refuse_seconds(body)
    for each in body.get("offer_ids", ()):
        offer = master.offers.get(each["value"])
        if offer is not None and offer.framework_id == framework.id:
            framework.count("offers/declined")
            offering.discard(master, offer, refuse)


def refuse_seconds(body: Message) -> float:
    """Lifetime of the filter of DECLINE or ACCEPT: 5 s by default."""
    return float(body.get("filters", {}).get("refuse_seconds", 5.0))


def answer_inverse(
    master: MasterState, framework: Framework, body: Message, accepted: bool
) -> None:
    """ACCEPT_INVERSE_OFFERS and DECLINE_INVERSE_OFFERS."""
    for each in body.get("inverse_offer_ids", ()):
        sent = master.offers.inverse(each["value"])
        if sent is None or sent.framework_id != framework.id:
            continue
        held = Holding(framework.id, "", sent.agent_id)
        master.allocator.answer_inverse_offer(held, accepted, master.now, refuse_seconds(body))
        offering.withdraw_inverse(master, sent, tell=False, answered=True)


def set_suppressed(
    master: MasterState, framework: Framework, body: Message, suppressed: bool
) -> None:
    """REVIVE and SUPPRESS: resume or stop offers of roles, or of all roles.

    A call with a role that is invalid or not subscribed has no effect. REVIVE also removes filters.
    """
    verb = "suppress" if suppressed else "revive"
    master.counters[f"master/messages_{verb}_offers"] += 1
    roles = body.get("roles", [])
    if any(role_error(role) or role not in framework.roles for role in roles):
        return
    framework.set_suppressed(roles or framework.roles, suppressed)
    master.changed(framework)
    change = master.allocator.suppress if suppressed else master.allocator.revive
    change(framework.id, roles)


def kill(master: MasterState, framework: Framework, body: Message) -> None:
    """KILL: send the kill to the agent; an unknown task is reconciled."""
    master.counters["master/messages_kill_task"] += 1
    task = framework.tasks.get(body["task_id"]["value"])
    if task is None:
        known = {key: body[key] for key in ("task_id", "agent_id") if key in body}
        reconcile(master, framework, {"tasks": [known]})
        return
    given = body.get("agent_id", {}).get("value", task.agent_id)
    agent = master.agents.get(task.agent_id)
    if given != task.agent_id or agent is None:
        return
    message = {"framework_id": {"value": framework.id}, "task_id": body["task_id"]}
    if "kill_policy" in body:
        message["kill_policy"] = body["kill_policy"]
    master.wants_killed(framework.id, task.id)
    if agent.connected:
        master.outbox.agent(agent.pid, "KillTaskMessage", message)


def shutdown(master: MasterState, framework: Framework, body: Message) -> None:
    """SHUTDOWN: let the agent stop an executor."""
    agent = master.agents.get(body["agent_id"]["value"])
    if agent is not None:
        message = {
            "executor_id": body["executor_id"],
            "framework_id": {"value": framework.id},
        }
        master.outbox.agent(agent.pid, "ShutdownExecutorMessage", message)


def message(master: MasterState, framework: Framework, body: Message) -> None:
    """MESSAGE: send bytes to an executor through its agent."""
    master.counters["master/messages_framework_to_executor"] += 1
    agent = master.agents.get(body["agent_id"]["value"])
    if agent is None or not agent.connected:
        master.counters["master/invalid_framework_to_executor_messages"] += 1
        return
    master.counters["master/valid_framework_to_executor_messages"] += 1
    sent = {
        "slave_id": {"value": agent.id},
        "framework_id": {"value": framework.id},
        "executor_id": body["executor_id"],
        "data": body["data"],
    }
    master.outbox.agent(agent.pid, "FrameworkToExecutorMessage", sent)


def request(master: MasterState, framework: Framework, body: Message) -> None:
    """REQUEST: pass the demand of the framework to the allocator."""
    master.counters["master/messages_resource_request"] += 1
    named = [subjects.resource_request(each) for each in body.get("requests", ())]
    master.allocator.request(framework.id, named)


def acknowledge(master: MasterState, framework: Framework, body: Message) -> None:
    """ACKNOWLEDGE a status update."""
    master.counters["master/messages_status_update_acknowledgement"] += 1
    updates.acknowledge(master, framework, body)


def acknowledge_operation(master: MasterState, framework: Framework, body: Message) -> None:
    """ACKNOWLEDGE_OPERATION_STATUS: ignored, because no operation requires it."""
    del framework, body
    master.counters["master/messages_operation_status_update_acknowledgement"] += 1
    master.counters["master/invalid_operation_status_update_acknowledgements"] += 1


def reconcile(master: MasterState, framework: Framework, body: Message) -> None:
    """RECONCILE: report the state of the named tasks, or of all."""
    master.counters["master/messages_reconcile_tasks"] += 1
    named = body.get("tasks", [])
    if not named:
        for task in list(reversed(framework.tasks.values())):
            updates.forward(master, framework, _latest(task))
        return
    for each in named:
        status = _reconciled(master, framework, each)
        if status is not None:
            updates.forward(master, framework, status)


def reconcile_operations(master: MasterState, framework: Framework, body: Message) -> None:
    """RECONCILE_OPERATIONS: report unknown, because operations are applied immediately."""
    master.counters["master/messages_reconcile_operations"] += 1
    for each in body.get("operations", ()):
        agent_id = each.get("agent_id", {}).get("value")
        status: Message = {"operation_id": each["operation_id"]}
        if agent_id is None:
            text = "Reconciliation: Operation is unknown and no 'agent_id' was provided"
            status |= {"state": "OPERATION_UNKNOWN", "message": text}
        else:
            state, text = _operation_state(master, agent_id)
            status |= {"state": state, "message": text, "agent_id": each["agent_id"]}
        body = {"status": status}
        event = {"type": "UPDATE_OPERATION_STATUS", "update_operation_status": body}
        master.send(framework, event)


def teardown(master: MasterState, framework: Framework, body: Message) -> None:
    """TEARDOWN: remove the framework."""
    del body
    master.counters["master/messages_unregister_framework"] += 1
    subscriptions.remove(master, framework)


def _latest(task: Task) -> Message:
    text = "Reconciliation: Latest task state"
    status = master_status(task.id, task.agent_id, task.update_state, text, "REASON_RECONCILIATION")
    if task.executor_id:
        status["executor_id"] = {"value": task.executor_id}
    last = task.statuses[-1] if task.statuses else {}
    kept = ("healthy", "check_status", "container_status")
    return status | {key: last[key] for key in kept if key in last}


def _reconciled(master: MasterState, framework: Framework, named: Message) -> Message | None:
    """The reconciled state of one task; ``None`` while its agent may still return."""
    task_id = named["task_id"]["value"]
    agent_id = named.get("agent_id", {}).get("value")
    task = framework.tasks.get(task_id)
    if task is not None:
        return _latest(task)
    agents = master.agents
    waiting = agents.recovered if agent_id is None else agent_id in agents.recovered
    if waiting:
        return None
    extra: Message = {}
    if agent_id is not None and agents.get(agent_id) is not None:
        state, text = "TASK_GONE", "Task is unknown to the agent"
    elif agent_id in agents.unreachable:
        state, text = "TASK_UNREACHABLE", "Task is unreachable"
        since = int(agents.unreachable[agent_id] * 1e9)
        extra = {"unreachable_time": {"nanoseconds": since}}
    elif agent_id in agents.gone:
        state, text = "TASK_GONE_BY_OPERATOR", "Task is gone"
    else:
        state, text = "TASK_UNKNOWN", "Task is unknown"
    if not framework.partition_aware:
        state = "TASK_LOST"
    return extra | master_status(
        task_id, agent_id, state, f"Reconciliation: {text}", "REASON_RECONCILIATION"
    )


def _operation_state(master: MasterState, agent_id: str) -> tuple[str, str]:
    agents = master.agents
    if agent_id in agents.recovered:
        return "OPERATION_RECOVERING", "Reconciliation: Agent is recovering"
    if agent_id in agents.unreachable:
        return "OPERATION_UNREACHABLE", "Reconciliation: Agent is unreachable"
    if agent_id in agents.gone:
        return "OPERATION_GONE_BY_OPERATOR", "Reconciliation: Agent marked gone by operator"
    return "OPERATION_UNKNOWN", "Reconciliation: Operation is unknown"


HANDLERS: Final[Mapping[str, Handler]] = {
    "TEARDOWN": teardown,
    "DECLINE": decline,
    "ACCEPT_INVERSE_OFFERS": lambda master, framework, body: answer_inverse(
        master, framework, body, accepted=True
    ),
    "DECLINE_INVERSE_OFFERS": lambda master, framework, body: answer_inverse(
        master, framework, body, accepted=False
    ),
    "REVIVE": lambda master, framework, body: set_suppressed(
        master, framework, body, suppressed=False
    ),
    "SUPPRESS": lambda master, framework, body: set_suppressed(
        master, framework, body, suppressed=True
    ),
    "KILL": kill,
    "SHUTDOWN": shutdown,
    "ACKNOWLEDGE": acknowledge,
    "ACKNOWLEDGE_OPERATION_STATUS": acknowledge_operation,
    "RECONCILE": reconcile,
    "RECONCILE_OPERATIONS": reconcile_operations,
    "MESSAGE": message,
    "REQUEST": request,
}
"""Calls that are answered with 202 and no body, by type."""
