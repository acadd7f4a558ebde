"""Status updates, and the end of tasks and executors."""

from stretto.offers.master.core import ledger
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.state.agents import Agent, DrainState
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.master.state.tasks import (
    PARTITION_STATES,
    TERMINAL,
    Task,
    master_status,
)
from stretto.offers.messages.schema import Message


def forward(master: MasterState, framework: Framework, status: Message) -> None:
    """Send a status to a framework; a status of the master gets the present time."""
    status = {"timestamp": master.wall} | status
    master.send(framework, {"type": "UPDATE", "update": {"status": status}})


def report(master: MasterState, framework: Framework, status: Message) -> None:
    """Send a status of the master, with a state that the framework supports."""
    if status["state"] in PARTITION_STATES and not framework.partition_aware:
        status = status | {"state": "TASK_LOST"}
    master.counters[f"master/tasks_{status['state'][5:].lower()}"] += 1
    forward(master, framework, status)


def end_by_master(
    master: MasterState, task: Task, state: str, message: str, reason: str
) -> Message:
    """Set the state of a task by decision of the master; return the status."""
    framework = master.frameworks.get(task.framework_id)
    aware = framework is not None and framework.partition_aware
    shown = state if aware or state not in PARTITION_STATES else "TASK_LOST"
    status = master_status(task.id, task.agent_id, shown, message, reason)
    if task.executor_id:
        status["executor_id"] = {"value": task.executor_id}
    record(master, task, {"timestamp": master.wall} | status, state if aware else shown)
    return status


def receive(master: MasterState, agent: Agent, update: Message) -> None:
    """Handle a status update of an executor that an agent forwards."""
    status = update["status"]
    framework = master.frameworks.get(update["framework_id"]["value"])
    if framework is None:
        master.counters["master/invalid_status_updates"] += 1
        return
    master.counters["master/valid_status_updates"] += 1
    uuid = status.get("uuid") or update.get("uuid", "")
    shown = {"agent_id": {"value": agent.id}, "timestamp": update.get("timestamp", master.wall)}
    status = shown | status | ({"uuid": uuid} if uuid else {})
    task = agent.task(framework.id, status["task_id"]["value"])
    if task is not None:
        state = update.get("latest_state", status["state"])
        if uuid:
            task.forwarded(status["state"], uuid)
            master.changed(task)
        record(master, task, status, state)
    if framework.connected:
        forward(master, framework, status)
    if task is not None and not uuid and task.state in TERMINAL:
        forget(master, task)


def acknowledge(master: MasterState, framework: Framework, body: Message) -> None:
    """Forward the acknowledgement of an update; a task that has ended is removed."""
    agent = master.agents.get(body["agent_id"]["value"])
    task_id, uuid = body["task_id"]["value"], body["uuid"]
    task = agent.task(framework.id, task_id) if agent else None
    if agent is None or not agent.connected or (task is not None and not task.update_uuid):
        master.counters["master/invalid_status_update_acknowledgements"] += 1
        return
    if task is not None and task.update_state in TERMINAL and task.update_uuid == uuid:
        forget(master, task)
    message = {
        "slave_id": {"value": agent.id},
        "framework_id": {"value": framework.id},
        "task_id": body["task_id"],
        "uuid": uuid,
    }
    master.outbox.agent(agent.pid, "StatusUpdateAcknowledgementMessage", message)
    master.counters["master/valid_status_update_acknowledgements"] += 1


def record(master: MasterState, task: Task, status: Message, state: str) -> None:
    """Set the state of a task; the resources of a terminal task are freed."""
    framework = master.frameworks.get(task.framework_id)
    was_active = task.is_active
    changed = task.record(status, state)
    master.changed(task)
    if changed:
        body = {
            "framework_id": {"value": task.framework_id},
            "status": status,
            "state": task.state,
        }
        master.publish({"type": "TASK_UPDATED", "task_updated": body})
    if was_active and not task.is_active:
        _release(master, task)
        if framework is not None:
            framework.count(f"tasks/terminal/{task.state.lower()}")
        if task.state in TERMINAL:
            master.counters[f"master/tasks_{task.state[5:].lower()}"] += 1


def _release(master: MasterState, task: Task) -> None:
    """Free the resources of a task."""
    ledger.finish(master, task.framework_id, task.agent_id, task.resources)
    agent, framework = master.agents.get(task.agent_id), master.frameworks.get(task.framework_id)
    if agent is not None:
        agent.release(task.framework_id, task.resources)
    if framework is not None:
        framework.release(task.resources)


def forget(master: MasterState, task: Task) -> None:
    """Remove a task and add it to the completed tasks of its framework."""
    framework, agent = master.frameworks.get(task.framework_id), master.agents.get(task.agent_id)
    if task.is_active:
        _release(master, task)
    if framework is not None:
        framework.remove_task(task)
    master.changed(task)
    master.killed.discard((task.framework_id, task.id))
    if agent is not None:
        agent.remove_task(task)
        check_drained(agent)


def check_drained(agent: Agent) -> None:
    """Mark a draining agent without tasks as drained."""
    if agent.drain and agent.drain.state is DrainState.DRAINING and not agent.task_count:
        agent.drain.finish()


def remove_executor(master: MasterState, agent: Agent, framework_id: str, executor_id: str) -> None:
    """Remove an executor and free its resources."""
    info = agent.executor(framework_id, executor_id)
    if info is None:
        return
    resources = formats.read(info.get("resources", ()))
    agent.remove_executor(framework_id, executor_id)
    master.changed(agent)
    framework = master.frameworks.get(framework_id)
    if framework is not None:
        framework.remove_executor(agent.id, executor_id, resources)
    ledger.finish(master, framework_id, agent.id, resources)


def executor_exited(master: MasterState, agent: Agent, message: Message) -> None:
    """Handle a report about an executor that has exited."""
    master.counters["master/messages_exited_executor"] += 1
    framework_id = message["framework_id"]["value"]
    executor_id = message["executor_id"]["value"]
    if agent.executor(framework_id, executor_id) is None:
        return
    remove_executor(master, agent, framework_id, executor_id)
    framework = master.frameworks.get(framework_id)
    if framework is not None:
        failure = {
            "agent_id": {"value": agent.id},
            "executor_id": message["executor_id"],
            "status": message["status"],
        }
        master.send(framework, {"type": "FAILURE", "failure": failure})
