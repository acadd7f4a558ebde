"""LAUNCH and LAUNCH_GROUP: tasks start on the agent of the accepted offers."""

from typing import Any

from stretto.offers.master.checks import tasks as checks
from stretto.offers.master.core import updates
from stretto.offers.master.core.accepting.acceptance import Acceptance
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.master.state.tasks import Task, master_status, task_message
from stretto.offers.messages.schema import Message


def tasks_of(operation: Message) -> list[Message]:
    """The tasks of a launch."""
    if operation["type"] == "LAUNCH":
        found: list[Message] = operation.get("launch", {}).get("task_infos", [])
    else:
        found = operation.get("launch_group", {}).get("task_group", {}).get("tasks", [])
    return found


def listed_resources(operation: Message) -> list[Message]:
    """All resources that a launch names."""
    listed: list[Message] = []
    for task in tasks_of(operation):
        listed += task.get("resources", ())
        listed += task.get("executor", {}).get("resources", ())
    listed += operation.get("launch_group", {}).get("executor", {}).get("resources", ())
    return listed


def allocated(operation: Message, framework_id: str, role: str) -> Message:
    """The launch with resources allocated to the role, and with complete executors."""
    if operation["type"] == "LAUNCH":
        tasks = [_task(each, framework_id, role) for each in tasks_of(operation)]
        return operation | {"launch": {"task_infos": tasks}}
    body = operation["launch_group"]
    executor = _resources(body["executor"], role)
    tasks = [
        {"executor": executor} | _task(each, framework_id, role) for each in tasks_of(operation)
    ]
    return operation | {"launch_group": {"executor": executor, "task_group": {"tasks": tasks}}}


def reject(master: MasterState, framework: Framework, operation: Message, error: str) -> None:
    """Report all tasks of a launch as invalid."""
    group = operation["type"] == "LAUNCH_GROUP"
    reason = "REASON_TASK_GROUP_INVALID" if group else "REASON_TASK_INVALID"
    for task in tasks_of(operation):
        _error(master, framework, task, (error, reason))


def launch(master: MasterState, acceptance: Acceptance, operation: Message) -> None:
    """Start the valid tasks of a LAUNCH, each with the resources that earlier ones leave."""
    framework, agent = acceptance.framework, acceptance.agent
    for info in tasks_of(operation):
        error = checks.task_error(info, framework, agent, acceptance.remaining)
        if error:
            _error(master, framework, info, (error, "REASON_TASK_INVALID"))
            continue
        executor = info.get("executor")
        new = executor is not None and _start_executor(acceptance, executor)
        _start(master, acceptance, info)
        message: Message = {
            "framework": framework.info,
            "pid": "",
            "task": info,
            "launch_executor": executor is None or new,
        }
        framework.count("operations")
        framework.count("operations/launch")
        master.outbox.agent(agent.pid, "RunTaskMessage", message)


def launch_group(master: MasterState, acceptance: Acceptance, operation: Message) -> None:
    """Start all tasks of a LAUNCH_GROUP, or none of them."""
    framework, agent, body = acceptance.framework, acceptance.agent, operation["launch_group"]
    error = checks.group_error(body, framework, agent, acceptance.remaining)
    if error:
        reject(master, framework, operation, error)
        return
    new = _start_executor(acceptance, body["executor"])
    for info in tasks_of(operation):
        _start(master, acceptance, info)
    message: Message = {
        "framework": framework.info,
        "executor": body["executor"],
        "task_group": body["task_group"],
        "launch_executor": new,
    }
    framework.count("operations")
    framework.count("operations/launch_group")
    master.outbox.agent(agent.pid, "RunTaskGroupMessage", message)


def _start_executor(acceptance: Acceptance, executor: Message) -> bool:
    """Add an executor unless it runs; true if it is new."""
    framework, agent = acceptance.framework, acceptance.agent
    if agent.executor(framework.id, executor["executor_id"]["value"]) is not None:
        return False
    resources = formats.read(executor.get("resources", ()))
    agent.add_executor(framework.id, executor, resources)
    framework.add_executor(agent.id, executor, resources)
    acceptance.launch(resources)
    return True


def _start(master: MasterState, acceptance: Acceptance, info: Message) -> None:
    task = Task(task_message(info, acceptance.framework.id), master.next_launch())
    acceptance.agent.add_task(task)
    acceptance.framework.add_task(task)
    acceptance.launch(task.resources)
    master.changed(task, acceptance.agent)
    master.publish({"type": "TASK_ADDED", "task_added": {"task": task.message()}})


def _error(master: MasterState, framework: Framework, info: Message, why: tuple[str, str]) -> None:
    text, reason = why
    task_id, agent_id = info["task_id"]["value"], info["agent_id"]["value"]
    status = master_status(task_id, agent_id, "TASK_ERROR", text, reason)
    updates.report(master, framework, status)


def _task(info: Message, framework_id: str, role: str) -> Message:
    """A TaskInfo with allocated resources and Mesos' defaults."""
    info = _resources(info, role)
    if "executor" in info:
        executor = {"framework_id": {"value": framework_id}} | info["executor"]
        info = info | {"executor": _resources(executor, role)}
    check = info.get("health_check")
    if check is not None and "type" not in check:
        kinds = [kind for kind in ("command", "http") if kind in check]
        if len(kinds) == 1:
            info = info | {"health_check": check | {"type": kinds[0].upper()}}
    return info


def _resources(message: Message, role: str) -> Message:
    if "resources" not in message:
        return message
    given: list[dict[str, Any]] = message["resources"]
    placed = [{"allocation_info": {"role": role}} | formats.upgraded(each) for each in given]
    return message | {"resources": placed}
