"""Checks of tasks and task groups that a framework launches."""

import math
from collections.abc import Sequence
from typing import Final

from stretto.offers.master.checks import commands
from stretto.offers.master.checks import resources as checks
from stretto.offers.master.checks.executors import executor_error, shares_cgroups
from stretto.offers.master.resources import formats
from stretto.offers.master.resources.items import MILLI, ResourceList, total
from stretto.offers.master.state.agents import Agent
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.messages.schema import Message

MIN_CPUS: Final = 10
"""Thousandths of a CPU that the executor of a task group needs."""
MIN_MEM: Final = 32 * MILLI
"""Thousandths of a megabyte that the executor of a task group needs."""


def task_error(
    task: Message, framework: Framework, agent: Agent, available: ResourceList
) -> str | None:
    """Error that rejects a task of LAUNCH; ``None`` if it is valid."""
    return (
        _single_task_error(task, framework, agent)
        or _task_executor_error(task, framework, agent, available)
        or _share_error(task)
    )


def group_error(
    launch: Message, framework: Framework, agent: Agent, available: ResourceList
) -> str | None:
    """Error that rejects a LAUNCH_GROUP as a whole; ``None`` if it is valid."""
    tasks, executor = launch["task_group"].get("tasks", []), launch["executor"]
    for task in tasks:
        error = _group_task_error(task, framework, agent)
        if error:
            return f"Task '{task['task_id']['value']}' is invalid: {error}"
    return (
        executor_error(executor, framework.id, agent)
        or _group_executor_error(executor, tasks)
        or _group_resources_error(executor, tasks)
        or _group_fit_error(executor, tasks, (framework.id, agent), available)
        or _group_share_error(executor, tasks)
    )


def _single_task_error(task: Message, framework: Framework, agent: Agent) -> str | None:
    return (
        checks.id_error(task["task_id"]["value"])
        or _unique_error(task, framework)
        or _agent_error(task, agent)
        or _times_error(task)
        or _wrapped("Task uses invalid check", commands.check_error, task.get("check"))
        or _wrapped(
            "Task uses invalid health check",
            commands.health_check_error,
            task.get("health_check"),
        )
        or _resources_error(task)
        or _wrapped("Task's `CommandInfo` is invalid", commands.command_error, task.get("command"))
        or _wrapped(
            "Task's `ContainerInfo` is invalid",
            commands.container_error,
            task.get("container"),
        )
        or _limits_error(task, agent)
    )


def _wrapped(prefix: str, check: commands.Check, part: Message | None) -> str | None:
    error = None if part is None else check(part)
    return f"{prefix}: {error}" if error else None


def _unique_error(task: Message, framework: Framework) -> str | None:
    task_id = task["task_id"]["value"]
    if task_id in framework.tasks:
        return f"Task has duplicate ID: {task_id}"
    if task_id in framework.unreachable:
        return f"Task reuses the ID of an unreachable task: {task_id}"
    return None


def _agent_error(task: Message, agent: Agent) -> str | None:
    given = task["agent_id"]["value"]
    if given == agent.id:
        return None
    return f"Task uses invalid agent {given} while agent {agent.id} is expected"


def _times_error(task: Message) -> str | None:
    if task.get("kill_policy", {}).get("grace_period", {}).get("nanoseconds", 0) < 0:
        return "Task's 'kill_policy.grace_period' must be non-negative"
    if task.get("max_completion_time", {}).get("nanoseconds", 0) < 0:
        return "Task's `max_completion_time` must be non-negative"
    return None


def _resources_error(task: Message) -> str | None:
    messages = task.get("resources", [])
    if not messages:
        return "Task uses no resources"
    return checks.used_by_error("Task", messages)


def _limits_error(task: Message, agent: Agent) -> str | None:
    limits = task.get("limits")
    if not limits:
        return None
    if not agent.has("TASK_RESOURCE_LIMITS"):
        return "Agent is not capable of handling task resource limits"
    if limits.keys() - {"cpus", "mem"}:
        return "Only cpus and mem may be included in a task's resource limits"
    amounts = formats.read(task.get("resources", ())).scalars()
    nouns = {"cpus": ("CPU", "cpu"), "mem": ("memory", "memory")}
    for name in (each for each in ("cpus", "mem") if each in limits):
        title, noun = nouns[name]
        if name not in amounts:
            return f"When a {title} limit is specified, a {title} request must also be specified"
        value = limits[name]["value"]
        if not math.isinf(value) and value * MILLI < amounts[name]:
            return f"The {noun} limit must be greater than or equal to the {noun} request"
    return None


def _task_executor_error(
    task: Message, framework: Framework, agent: Agent, available: ResourceList
) -> str | None:
    """Error in the executor of a task, or in both together; ``None`` if they are valid."""
    if ("executor" in task) == ("command" in task):
        return "Task should have at least one (but not both) of CommandInfo or ExecutorInfo present"
    own = needed = formats.read(task["resources"])
    executor = task.get("executor")
    if executor is not None:
        error = _own_executor_error(executor, framework, agent)
        if error:
            return error
        if agent.executor(framework.id, executor["executor_id"]["value"]) is None:
            needed = needed + formats.read(executor.get("resources", ()))
    error = _together_error(task, own)
    if error:
        return error
    if not available.contains(needed):
        return (
            f"Total resources {formats.text(needed)} required by task and its executor is more than"
            f" available {formats.text(available)}"
        )
    return None


def _own_executor_error(executor: Message, framework: Framework, agent: Agent) -> str | None:
    error = executor_error(executor, framework.id, agent)
    if error:
        return error
    if executor.get("type", "CUSTOM") != "CUSTOM":
        return "'ExecutorInfo.type' must be 'CUSTOM'"
    if "command" not in executor:
        return "'ExecutorInfo.command' must be set"
    resources = formats.read(executor.get("resources", ()))
    if resources.where(lambda kind: kind.shared):
        return (
            f"Executor resources {formats.text(resources)} should not contain any shared resources"
        )
    if shares_cgroups(executor):
        return "The 'share_cgroups' field cannot be set to 'true' on executor containers"
    return None


def _together_error(task: Message, own: ResourceList) -> str | None:
    parts = [own]
    if "executor" in task:
        parts.append(formats.read(task["executor"].get("resources", ())))
        if checks.overlap(parts):
            return (
                f"There are overlapping resources in the task resources {formats.text(parts[0])}"
                f" and executor resources {formats.text(parts[1])}"
            )
    both = total(parts)
    error = checks.unique_volumes_error(both)
    if error:
        return f"Task and its executor use duplicate persistence ID: {error}"
    error = checks.mixed_revocable_error(both)
    if error:
        return f"Task and its executor mix revocable and non-revocable resources: {error}"
    return None


def _share_error(task: Message) -> str | None:
    if shares_cgroups(task) is False:
        return "Only tasks in a task group may have 'share_cgroups' set to 'false'"
    return None


def _group_task_error(task: Message, framework: Framework, agent: Agent) -> str | None:
    error = _single_task_error(task, framework, agent)
    if error:
        return error
    if "executor" not in task:
        return "'TaskInfo.executor' must be set"
    container = task.get("container", {})
    if container.get("network_infos") and task.get("health_check", {}).get("type") in (
        "HTTP",
        "TCP",
    ):
        return (
            "HTTP and TCP health checks are not supported for nested containers not joining"
            " parent's network"
        )
    if container.get("type") == "DOCKER":
        return "Docker ContainerInfo is not supported on the task"
    if task.get("limits") and shares_cgroups(task) is not False:
        return (
            "Resource limits may only be set for tasks within a task group when the"
            " 'share_cgroups' field is set to 'false'."
        )
    return None


def _group_executor_error(executor: Message, tasks: Sequence[Message]) -> str | None:
    """Error in the executor of a group; ``None`` if it is valid."""
    kind = executor.get("type")
    if kind is None:
        return "'ExecutorInfo.type' must be set"
    if kind == "UNKNOWN":
        return "Unknown executor type"
    if executor.get("container", {}).get("type") == "DOCKER":
        return "Docker ContainerInfo is not supported on the executor"
    name = executor["executor_id"]["value"]
    for task in tasks:
        if task.get("executor", executor) != executor:
            return (
                f"The `ExecutorInfo` of task '{task['task_id']['value']}' is different from"
                f" executor '{name}'"
            )
    amounts = formats.read(executor.get("resources", ())).scalars()
    if amounts.get("cpus", 0) < MIN_CPUS:
        used = formats.number_text(amounts["cpus"] / MILLI) if "cpus" in amounts else "None"
        return f"Executor '{name}' uses less CPUs ({used}) than the minimum required (0.01)"
    if amounts.get("mem", 0) < MIN_MEM:
        used = f"{formats.number_text(amounts['mem'] / MILLI)}MB" if "mem" in amounts else "None"
        return f"Executor '{name}' uses less memory ({used}) than the minimum required (32MB)"
    return None if "disk" in amounts else f"Executor '{name}' uses no disk"


def _group_resources_error(executor: Message, tasks: Sequence[Message]) -> str | None:
    own = formats.read(executor.get("resources", ()))
    parts = [formats.read(task.get("resources", ())) for task in tasks]
    both = total([own, *parts])
    error = checks.unique_volumes_error(both)
    if error:
        return f"Task group and executor use duplicate persistence ID: {error}"
    error = checks.mixed_revocable_error(both)
    if error:
        return f"Task group and executor mix revocable and non-revocable resources: {error}"
    if checks.overlap([*parts, own]):
        listed = ", ".join(map(formats.text, parts))
        return (
            "There are overlapping resources in the task group's task resources"
            f" [ {listed} ] and/or executor resources {formats.text(own)}"
        )
    return None


def _group_fit_error(
    executor: Message,
    tasks: Sequence[Message],
    place: tuple[str, Agent],
    available: ResourceList,
) -> str | None:
    framework_id, agent = place
    needed = total(formats.read(task.get("resources", ())) for task in tasks)
    if agent.executor(framework_id, executor["executor_id"]["value"]) is None:
        needed = needed + formats.read(executor.get("resources", ()))
    if available.contains(needed):
        return None
    return (
        f"Total resources {formats.text(needed)} required by task group and its executor are more"
        f" than available {formats.text(available)}"
    )


def _group_share_error(executor: Message, tasks: Sequence[Message]) -> str | None:
    if shares_cgroups(executor):
        return "The 'share_cgroups' field cannot be set to 'true' on executor containers"
    if len({shares_cgroups(task) is not False for task in tasks}) > 1:
        return (
            "If set, the value of 'share_cgroups' must be the same for all tasks in each task group"
            " and under a single executor"
        )
    return None
