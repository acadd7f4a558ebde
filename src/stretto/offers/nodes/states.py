"""States of tasks, read from the status of their pods."""

from typing import Any, Final, NamedTuple

import msgspec

from stretto.api.types.heads import DISRUPTION_TARGET
from stretto.offers.messages.schema import Message
from stretto.offers.nodes.pods import CONTAINER, FRAMEWORK, FRAMEWORK_INFO, ROLE, TASKS
from stretto.reconcile.cache import Fields, StoredObject
from stretto.reconcile.conditions import true_condition

ENDED: Final = frozenset({"TASK_FINISHED", "TASK_FAILED", "TASK_KILLED"})
"""Final states of the tasks in pods."""
_OUT_OF_MEMORY: Final = "OOMKilled"
_DEADLINE: Final = "DeadlineExceeded"


TaskKey = tuple[str, str]
"""Ids of a framework and of a task."""


class _Value(msgspec.Struct):
    #: The value.
    value: str


class _MarkedTask(msgspec.Struct):
    #: Id of the task.
    task_id: _Value


class TaskReport(NamedTuple):
    """The state of one task, from its pod."""

    #: State of the task.
    state: str
    #: Reason, as text for users.
    message: str = ""
    #: Mesos' reason; empty for none.
    reason: str = ""


class PodIdentity(NamedTuple):
    """The tasks of a pod."""

    #: Id of the framework.
    framework_id: str
    #: Task messages with the numbers of their launches, by container.
    rows: tuple[Message, ...]
    #: FrameworkInfo; empty if the mark is missing.
    framework: Message
    #: The role whose capacity the tasks use.
    role: str

    @property
    def keys(self) -> list[TaskKey]:
        """Ids of framework and task, by container."""
        return [(self.framework_id, each["task_id"]["value"]) for each in self.rows]


def identity_of(pod: StoredObject) -> PodIdentity | None:
    """The tasks of a pod; ``None`` if the pod has no task annotations or damaged ones."""
    framework_id, listed = pod.labels.get(FRAMEWORK), pod.annotations.get(TASKS)
    if not framework_id or not listed:
        return None
    try:
        tasks = msgspec.json.decode(listed, type=tuple[_MarkedTask, ...])
        info = msgspec.json.decode(pod.annotations.get(FRAMEWORK_INFO, "{}"), type=dict[str, Any])
    except msgspec.DecodeError:
        return None
    messages = tuple(msgspec.json.decode(listed)) if tasks else ()
    return PodIdentity(framework_id, messages, info, pod.annotations.get(ROLE, "*"))


def report_of(pod: StoredObject, number: int, *, killed: bool) -> TaskReport:
    """The state of the task in one container of a pod.

    Args:
        pod: the pod.
        number: position of the task.
        killed: true if the framework has killed the task.
    """
    state = _container_state(pod, CONTAINER.format(number))
    phase = pod.status.get("phase")
    if phase == "Failed" and pod.status.get("reason") == _DEADLINE and not killed:
        return _failed(pod, killed=killed)
    if "terminated" in state:
        return _ended(state["terminated"], killed=killed)
    if phase == "Succeeded":
        return TaskReport("TASK_KILLED" if killed else "TASK_FINISHED")
    if phase == "Failed":
        return _failed(pod, killed=killed)
    if killed and pod.is_terminating:
        return TaskReport("TASK_KILLING")
    if "running" in state or phase == "Running":
        return TaskReport("TASK_RUNNING")
    waiting = state.get("waiting", {})
    return TaskReport("TASK_STARTING", _text(waiting.get("reason"), waiting.get("message")))


def report_of_deleted(pod: StoredObject, number: int, *, killed: bool) -> TaskReport:
    """The last state of the task in one container of a deleted pod."""
    last = report_of(pod, number, killed=killed)
    if last.state in ENDED:
        return last
    if killed:
        return TaskReport("TASK_KILLED", "Pod deleted")
    evicted = true_condition(pod.status.get("conditions"), DISRUPTION_TARGET)
    text = "Pod deleted"
    if evicted is not None:
        text = f"Pod evicted: {_text(evicted.get('reason'), evicted.get('message'))}"
    return TaskReport("TASK_FAILED", text, "REASON_CONTAINER_PREEMPTED")


def _ended(ended: Fields, *, killed: bool) -> TaskReport:
    code, reason = ended.get("exitCode", 0), ended.get("reason", "")
    text = f"Command exited with status {code}"
    if killed:
        return TaskReport("TASK_KILLED", text)
    if reason == _OUT_OF_MEMORY:
        return TaskReport(
            "TASK_FAILED", "Memory limit exceeded", "REASON_CONTAINER_LIMITATION_MEMORY"
        )
    return TaskReport("TASK_FAILED" if code else "TASK_FINISHED", text)


def _failed(pod: StoredObject, *, killed: bool) -> TaskReport:
    text = _text(pod.status.get("reason"), pod.status.get("message"))
    if killed:
        return TaskReport("TASK_KILLED", text)
    if pod.status.get("reason") == _DEADLINE:
        return TaskReport("TASK_FAILED", text, "REASON_MAX_COMPLETION_TIME_REACHED")
    evicted = pod.status.get("reason") in ("Evicted", "Preempting", "NodeShutdown")
    reason = "REASON_CONTAINER_PREEMPTED" if evicted else "REASON_COMMAND_EXECUTOR_FAILED"
    return TaskReport("TASK_FAILED", text or "Pod failed", reason)


def _container_state(pod: StoredObject, name: str) -> Fields:
    listed = pod.status.get("containerStatuses") or ()
    for each in listed:
        if each.get("name") == name:
            state: Fields = each.get("state") or {}
            return state
    return {}


def _text(reason: str | None, message: str | None) -> str:
    return ": ".join(filter(None, (reason, message)))
