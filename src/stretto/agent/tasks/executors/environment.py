"""Environment variables by which an executor finds its agent, with Mesos' names."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from stretto.agent.tasks.executors.records import ExecutorRecord

_UNITS = (("weeks", 604_800), ("days", 86_400), ("hrs", 3_600), ("mins", 60), ("secs", 1))


class ExecutorTimes(msgspec.Struct, frozen=True):
    """Time limits of executors, in seconds."""

    #: Time to subscribe after the start.
    registration: float = 60.0
    #: Time to subscribe after a restart of the agent; common libraries wait up to 15 s between
    #: attempts.
    reregistration: float = 30.0
    #: Time to end after SHUTDOWN, unless the executor has its own limit.
    shutdown: float = 5.0
    #: Time to wait for an unavailable agent.
    recovery: float = 900.0
    #: Maximum time between two attempts to subscribe.
    backoff: float = 2.0


class AgentAddress(msgspec.Struct, frozen=True):
    """Address of the agent for executors."""

    #: Libprocess address of the agent, such as ``slave(1)@127.0.0.1:5051``.
    pid: str
    #: Host and port.
    endpoint: str


def grace(record: ExecutorRecord, times: ExecutorTimes) -> float:
    """Seconds that an executor has to end after SHUTDOWN."""
    own = record.info.get("shutdown_grace_period")
    return times.shutdown if own is None else float(own["nanoseconds"]) / 1e9


def variables(
    record: ExecutorRecord, agent_id: str, sandbox: Path, agent: AgentAddress, times: ExecutorTimes
) -> Mapping[str, str]:
    """The agent's variables of an executor."""
    framework_id, executor_id = record.key
    found = {
        "MESOS_FRAMEWORK_ID": framework_id,
        "MESOS_EXECUTOR_ID": executor_id,
        "MESOS_DIRECTORY": str(sandbox),
        "MESOS_SANDBOX": str(sandbox),
        "MESOS_SLAVE_ID": agent_id,
        "MESOS_SLAVE_PID": agent.pid,
        "MESOS_AGENT_ENDPOINT": agent.endpoint,
        "MESOS_CHECKPOINT": str(int(record.checkpoint)),
        "MESOS_HTTP_COMMAND_EXECUTOR": "0",
        "MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD": duration(grace(record, times)),
        "LIBPROCESS_IP": "0.0.0.0",
        "LIBPROCESS_PORT": "0",
    }
    if record.token:
        found["MESOS_EXECUTOR_AUTHENTICATION_TOKEN"] = record.token
    if record.checkpoint:
        found["MESOS_RECOVERY_TIMEOUT"] = duration(times.recovery)
        found["MESOS_SUBSCRIPTION_BACKOFF_MAX"] = duration(times.backoff)
    return found


def duration(seconds: float) -> str:
    """Format a duration like Mesos, in the largest unit in which it is whole: ``15mins``."""
    for name, size in _UNITS:
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g}{name}"
    return f"{seconds * 1000:g}ms" if seconds % 1 else f"{seconds:g}secs"
