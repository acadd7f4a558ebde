"""Checks of executors."""

from stretto.offers.master.checks import commands
from stretto.offers.master.checks import resources as checks
from stretto.offers.master.state.agents import Agent
from stretto.offers.messages.debug import debug_text
from stretto.offers.messages.schema import Message

_RULE = "-" * 60


def executor_error(executor: Message, framework_id: str, agent: Agent) -> str | None:
    """Error of an executor on an agent; ``None`` if it can be used."""
    return (
        info_error(executor)
        or _framework_error(executor, framework_id)
        or checks.used_by_error("Executor", executor.get("resources", []))
        or _compatible_error(executor, framework_id, agent)
    )


def info_error(executor: Message) -> str | None:
    """Error in an ExecutorInfo, independent of the state; ``None`` if it is valid."""
    return (
        _type_error(executor)
        or checks.id_error(executor["executor_id"]["value"])
        or _grace_error(executor)
        or _wrapped("CommandInfo", commands.command_error(executor.get("command", {})))
        or _wrapped("ContainerInfo", commands.container_error(executor.get("container", {})))
    )


def shares_cgroups(part: Message) -> bool | None:
    """The value of ``share_cgroups`` of a task or executor; ``None`` if it is unset."""
    found: bool | None = part.get("container", {}).get("linux_info", {}).get("share_cgroups")
    return found


def _type_error(executor: Message) -> str | None:
    kind = executor.get("type", "UNKNOWN")
    if kind == "CUSTOM" and "command" not in executor:
        return "'ExecutorInfo.command' must be set for 'CUSTOM' executor"
    if kind != "DEFAULT":
        return None
    if "command" in executor:
        return "'ExecutorInfo.command' must not be set for 'DEFAULT' executor"
    container = executor.get("container")
    if container is None:
        return None
    if container.get("type") != "MESOS":
        return "'ExecutorInfo.container.type' must be 'MESOS' for 'DEFAULT' executor"
    if "image" in container.get("mesos", {}):
        return "'ExecutorInfo.container.mesos.image' must not be set for 'DEFAULT' executor"
    return None


def _grace_error(executor: Message) -> str | None:
    if executor.get("shutdown_grace_period", {}).get("nanoseconds", 0) < 0:
        return "ExecutorInfo's 'shutdown_grace_period' must be non-negative"
    return None


def _wrapped(part: str, error: str | None) -> str | None:
    return f"Executor's `{part}` is invalid: {error}" if error else None


def _framework_error(executor: Message, framework_id: str) -> str | None:
    given = executor.get("framework_id", {}).get("value")
    if given is None:
        return "'ExecutorInfo.framework_id' must be set"
    if given != framework_id:
        return (
            f"ExecutorInfo has an invalid FrameworkID (Actual: {given} vs Expected: {framework_id})"
        )
    return None


def _compatible_error(executor: Message, framework_id: str, agent: Agent) -> str | None:
    existing = agent.executor(framework_id, executor["executor_id"]["value"])
    if existing is None or existing == executor:
        return None
    old, new = debug_text("ExecutorInfo", existing), debug_text("ExecutorInfo", executor)
    return (
        "ExecutorInfo is not compatible with existing ExecutorInfo with same ExecutorID.\n"
        f"{_RULE}\nExisting ExecutorInfo:\n{old}\n{_RULE}\nExecutorInfo:\n{new}\n{_RULE}\n"
    )
