"""Restores frameworks, executors and tasks from the registration of a new agent."""

from collections.abc import Mapping

from stretto.offers.allocator.contract import Holding
from stretto.offers.allocator.values.resources import Resources
from stretto.offers.master.core import updates
from stretto.offers.master.core.frameworks import subscriptions
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.resources.items import ResourceList
from stretto.offers.master.resources.pool import to_pool
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.master.state.tasks import SEEN, Task
from stretto.offers.messages.schema import Message


def restore(master: MasterState, agent: Agent, message: Message) -> Mapping[Holding, Resources]:
    """Add the report of an unknown agent; return the use of its tasks and executors."""
    for info in message.get("frameworks", ()):
        if master.frameworks.get(info["id"]["value"]) is None:
            _restore_framework(master, info)
    held: dict[Holding, ResourceList] = {}
    for executor in message.get("executor_infos", ()):
        restore_executor(master, agent, executor, held)
    for reported in message.get("tasks", ()):
        task = _task_of(master, reported)
        if _runs_elsewhere(master, task):
            body = {"framework_id": reported["framework_id"], "task_id": reported["task_id"]}
            master.outbox.agent(agent.pid, "KillTaskMessage", body)
            continue
        framework = restore_task(master, agent, task, held)
        if framework is not None:
            _announce(master, framework, task)
    for resources in held.values():
        agent.hold(resources)
    return {holding: to_pool(each) for holding, each in held.items()}


def _runs_elsewhere(master: MasterState, task: Task) -> bool:
    """True if a task was lost with its agent, and its id was launched on another one since.

    The returned agent ends its task: each id has one task.
    """
    framework = master.frameworks.get(task.framework_id)
    other = framework.tasks.get(task.id) if framework is not None else None
    return other is not None and other.agent_id != task.agent_id


def _task_of(master: MasterState, reported: Message) -> Task:
    """A reported task; its launch keeps the number that its agent knows, or has a new one."""
    if SEEN not in reported:
        return Task(reported, master.next_launch())
    master.skip_ids(0, 0, reported[SEEN])
    return Task.of_row(reported)


def _restore_framework(master: MasterState, info: Message) -> None:
    if master.frameworks.is_completed(info["id"]["value"]):
        return
    framework = subscriptions.restore(master, info, [])
    subscriptions.wait_for_return(master, framework, framework.failover_timeout)


def restore_executor(
    master: MasterState, agent: Agent, info: Message, held: dict[Holding, ResourceList]
) -> None:
    """Add a running executor of an agent."""
    framework_id = info.get("framework_id", {}).get("value", "")
    resources = formats.read(info.get("resources", ()))
    agent.add_executor(framework_id, info, resources)
    framework = master.frameworks.get(framework_id)
    if framework is not None:
        framework.add_executor(agent.id, info, resources)
    _count(held, framework_id, agent.id, resources)


def restore_task(
    master: MasterState, agent: Agent, task: Task, held: dict[Holding, ResourceList]
) -> Framework | None:
    """Add a running task of an agent; ``None`` if its framework is unknown."""
    framework = master.frameworks.get(task.framework_id)
    if framework is None:
        return None
    framework.unreachable.pop(task.id, None)
    agent.add_task(task)
    framework.add_task(task)
    master.changed(task)
    if task.is_active:
        _count(held, framework.id, agent.id, task.resources)
    return framework


def _announce(master: MasterState, framework: Framework, task: Task) -> None:
    """Send a framework the state of a running task of a returned agent."""
    status = {
        "task_id": {"value": task.id},
        "state": task.state,
        "source": "SOURCE_MASTER",
        "reason": "REASON_SLAVE_REREGISTERED",
        "message": "Agent re-registered",
        "agent_id": {"value": task.agent_id},
    }
    updates.forward(master, framework, status)


def _count(
    held: dict[Holding, ResourceList], framework_id: str, agent_id: str, resources: ResourceList
) -> None:
    for item in resources:
        holding = Holding(framework_id, item.kind.allocated or "*", agent_id)
        held[holding] = held.get(holding, ResourceList()) + ResourceList((item,))


def compare(master: MasterState, agent: Agent, message: Message) -> None:
    """End tasks and executors that the agent does not report: they never started or have ended."""
    reported = {
        (each["framework_id"]["value"], each["task_id"]["value"])
        for each in message.get("tasks", ())
    }
    for framework_id, tasks in list(agent.tasks.items()):
        framework = master.frameworks.get(framework_id)
        for task in list(tasks.values()):
            if (framework_id, task.id) in reported or not task.is_active:
                continue
            text = "Task is unknown to the agent"
            status = updates.end_by_master(
                master, task, "TASK_DROPPED", text, "REASON_RECONCILIATION"
            )
            updates.forget(master, task)
            if framework is not None:
                updates.forward(master, framework, status)
    running = {
        (each.get("framework_id", {}).get("value", ""), each["executor_id"]["value"])
        for each in message.get("executor_infos", ())
    }
    for framework_id, executors in list(agent.executors.items()):
        for executor_id in list(executors):
            if (framework_id, executor_id) not in running:
                updates.remove_executor(master, agent, framework_id, executor_id)
