"""Pods of tasks: one pod for a task, or for a group of tasks, bound to the node of the offer.

A pod contains the data for a restarted master: the tasks with the numbers of their launches, and
the framework's description. Its name is derived from the ids of framework and tasks and from the
number of the launch. A repeated creation therefore finds the first pod, and a later task with the
same id has its own pod.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from stretto.base.errors import InputError
from stretto.offers.allocator.values.ranges import Ranges
from stretto.offers.master.resources import formats
from stretto.offers.master.state.tasks import SEEN, task_message
from stretto.offers.messages.schema import Message
from stretto.offers.nodes.amounts import PORTS, ports_of, to_exact
from stretto.state.classes.preemption_attributes import CAN_BE_PREEMPTED
from stretto.state.classes.table import GPU

FINALIZER: Final = "stretto.dev/task"
"""Finalizer of the pods of tasks: it keeps a deleted pod until the master has read it."""
FRAMEWORK: Final = "stretto.dev/framework"
"""Label of the pods of tasks: the id of the framework."""
TASKS: Final = "stretto.dev/tasks"
"""Annotation: Task messages with the numbers of their launches, one per container, as JSON."""
FRAMEWORK_INFO: Final = "stretto.dev/framework-info"
"""Annotation: the FrameworkInfo, as JSON."""
ROLE: Final = "stretto.dev/role"
"""Annotation: the role whose capacity the tasks use."""
QUEUE: Final = "stretto.dev/queue"
"""Label: the queue of the pod."""
GRACE: Final = 3
"""Seconds between SIGTERM and SIGKILL without a kill policy, as in Mesos."""
CONTAINER: Final = "task-{}"
"""Name of the container of a task, by its position."""


class PodSettings(msgspec.Struct, frozen=True):
    """Settings for the conversion of tasks to pods."""

    #: Namespace of the pods.
    namespace: str = "default"
    #: Image of tasks without an image.
    image: str = "busybox"
    #: Scheduler name, which determines the pods that may preempt these pods.
    scheduler: str = "stretto-scheduler"
    #: PriorityClass of the pods; empty for the default.
    priority_class: str = ""
    #: Priority of the pods; offers are rescinded for pods with a higher priority.
    priority: int = 0
    #: Numbers of the host ports that every node offers, as inclusive ranges.
    ports: Ranges = ()


class TaskLaunch(msgspec.Struct, frozen=True):
    """Tasks that start together on one node."""

    #: FrameworkInfo with its id.
    framework: Message
    #: TaskInfos.
    tasks: tuple[Message, ...]
    #: Launch numbers of the tasks.
    numbers: tuple[int, ...]
    #: Name of the node.
    node: str
    #: The role whose capacity the tasks use.
    role: str
    #: The queue of the role.
    queue: str

    @property
    def framework_id(self) -> str:
        """Id of the framework."""
        value: str = self.framework["id"]["value"]
        return value

    @property
    def task_ids(self) -> list[str]:
        """Ids of the tasks."""
        return [each["task_id"]["value"] for each in self.tasks]

    @property
    def keys(self) -> list[tuple[str, str]]:
        """Ids of framework and task."""
        return [(self.framework_id, each) for each in self.task_ids]

    @property
    def rows(self) -> list[Message]:
        """Task messages with the numbers of their launches."""
        return [
            task_message(each, self.framework_id) | {SEEN: number}
            for each, number in zip(self.tasks, self.numbers, strict=True)
        ]

    @property
    def pod_name(self) -> str:
        """The name of the pod: readable, unique, and the same for each attempt."""
        words = (self.framework_id, *self.task_ids, str(self.numbers[0]))
        digest = hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
        first = re.sub(r"[^a-z0-9]+", "-", self.task_ids[0].lower()).strip("-")[:40].strip("-")
        return f"{first}-{digest}" if first else f"task-{digest}"


def pod_body(launch: TaskLaunch, settings: PodSettings) -> bytes:
    """The pod of a launch, as JSON.

    Raises:
        InputError: a task needs a feature that pods of tasks do not support.
    """
    labels = {FRAMEWORK: launch.framework_id, QUEUE: launch.queue}
    notes = {
        TASKS: msgspec.json.encode(launch.rows).decode(),
        FRAMEWORK_INFO: msgspec.json.encode(launch.framework).decode(),
        ROLE: launch.role,
    }
    if any(map(_uses_reservation, launch.tasks)):
        notes[CAN_BE_PREEMPTED] = "false"
    spec: dict[str, Any] = {
        "nodeName": launch.node,
        "schedulerName": settings.scheduler,
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": max(map(_grace, launch.tasks)),
        "containers": [
            _container(CONTAINER.format(number), task, settings)
            for number, task in enumerate(launch.tasks)
        ],
    }
    if settings.priority_class:
        spec["priorityClassName"] = settings.priority_class
    limits = [limit for each in launch.tasks if (limit := _completion_limit(each))]
    if limits:
        spec["activeDeadlineSeconds"] = min(limits)
    meta = {
        "name": launch.pod_name,
        "namespace": settings.namespace,
        "labels": labels,
        "annotations": notes,
        "finalizers": [FINALIZER],
    }
    return msgspec.json.encode({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def _uses_reservation(task: Message) -> bool:
    """True if a task uses reserved resources.

    They stay reserved after the task ends, so evicting the task does not free them for another pod.
    """
    return any(item.kind.reservations for item in formats.read(task.get("resources", ())))


def _container(name: str, task: Message, settings: PodSettings) -> dict[str, Any]:
    """The container of a task."""
    task_id = task["task_id"]["value"]
    command = task.get("command")
    is_custom = task.get("executor", {"type": "DEFAULT"}).get("type") != "DEFAULT"
    if command is None or is_custom:
        raise _unsupported(task_id, "executor", "a command; custom executors need an agent")
    if command.get("uris"):
        raise _unsupported(task_id, "command.uris", "no URIs: put the files into an image")
    if "check" in task:
        raise _unsupported(task_id, "check", "no check: pods have health checks only")
    user = _user(task_id, command)
    container: dict[str, Any] = {
        "name": name,
        "image": _image(task) or settings.image,
        "resources": _resources(task_id, task.get("resources", ())),
        "env": _environment(command),
        **_process(command),
    }
    ports, probe = _ports(task), _probe(task.get("health_check"))
    container |= {"ports": ports} if ports else {}
    container |= {"securityContext": {"runAsUser": user}} if user is not None else {}
    return container | ({"livenessProbe": probe} if probe else {})


def _image(task: Message) -> str:
    container = task.get("container", {})
    if container.get("volumes"):
        raise _unsupported(task["task_id"]["value"], "container.volumes", "no volumes")
    docker: str = container.get("docker", {}).get("image", "")
    image = container.get("mesos", {}).get("image", {}).get("docker", {})
    name: str = image.get("name", "")
    return docker or name


def _process(command: Message) -> dict[str, Any]:
    """Entry point and arguments: a shell command, an executable, or those of the image."""
    value, arguments = command.get("value", ""), list(command.get("arguments", ()))
    if command.get("shell", True):
        return {"command": ["/bin/sh", "-c", value]} if value else {}
    if value:
        return {"command": [value], "args": arguments[1:]}
    return {"args": arguments}


def _user(task_id: str, command: Message) -> int | None:
    """The id of the user of a command; ``None`` for the user of the image.

    Raises:
        InputError: the user is a name, which only the image defines.
    """
    user = command.get("user")
    if not user:
        return None
    if not (user.isascii() and user.isdigit()):
        expected = "the number of a user: only the image defines its name"
        raise InputError(f"task {task_id}: command.user", user, expected)
    return int(user)


def _completion_limit(task: Message) -> int:
    """Whole seconds after which a task is ended, rounded up; 0 for no limit.

    The limit of one task of a group ends the group, like a failure of the task.
    """
    return -(-int(task.get("max_completion_time", {}).get("nanoseconds", 0)) // 10**9)


def _environment(command: Message) -> list[dict[str, str]]:
    variables = command.get("environment", {}).get("variables", ())
    return [{"name": each["name"], "value": each.get("value", "")} for each in variables]


def _ports(task: Message) -> list[dict[str, Any]]:
    """The host ports of a task; a port mapping may lead to a different container port.

    Raises:
        InputError: a port mapping contains a port that is not among the resources of the task.
    """
    task_id = task["task_id"]["value"]
    listed = formats.read(task.get("resources", ()))
    numbers = [
        number
        for first, last in ports_of((item.kind.name, item.value) for item in listed)
        for number in range(first, last + 1)
    ]
    mapped = {
        each["host_port"]: each
        for each in task.get("container", {}).get("docker", {}).get("port_mappings", ())
    }
    strange = sorted(set(mapped) - set(numbers))
    if strange:
        expected = "host ports that are resources of the task"
        raise InputError(f"task {task_id}: port_mappings", strange[0], expected, "accept the port")
    return [
        {
            "containerPort": mapped.get(number, {}).get("container_port", number),
            "hostPort": number,
            "protocol": mapped.get(number, {}).get("protocol", "tcp").upper(),
        }
        for number in numbers
    ]


def _resources(task_id: str, listed: Sequence[Message]) -> dict[str, Any]:
    """Requests for the resources of a task, and limits of memory and GPUs."""
    requests: dict[str, int] = {}
    for item in formats.read(listed):
        if item.kind.name == PORTS:
            continue
        exact = to_exact(item.kind.name, item.value) if isinstance(item.value, int) else None
        if exact is None or item.kind.disk:
            expected = "cpus, gpus, mem, ports, and disk without volumes"
            raise _unsupported(task_id, f"resources {item.kind.name}", expected)
        requests[exact[0]] = requests.get(exact[0], 0) + exact[1]
    texts = {
        name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in requests.items()
    }
    limits = {name: texts[name] for name in ("memory", GPU) if requests.get(name)}
    return {"requests": texts} | ({"limits": limits} if limits else {})


def _probe(check: Message | None) -> dict[str, Any] | None:
    """The liveness probe of a health check."""
    if check is None:
        return None
    probe: dict[str, Any] = {
        "initialDelaySeconds": int(check.get("delay_seconds", 15)),
        "periodSeconds": max(1, int(check.get("interval_seconds", 10))),
        "timeoutSeconds": max(1, int(check.get("timeout_seconds", 20))),
        "failureThreshold": max(1, int(check.get("consecutive_failures", 3))),
    }
    if "http" in check:
        http = check["http"]
        scheme = http.get("scheme", "http").upper()
        return probe | {
            "httpGet": {"path": http.get("path", "/"), "port": http["port"], "scheme": scheme}
        }
    if "tcp" in check:
        return probe | {"tcpSocket": {"port": check["tcp"]["port"]}}
    process = _process(check.get("command", {}))
    argv = [*process.get("command", ()), *process.get("args", ())]
    return probe | {"exec": {"command": argv}} if argv else None


def _grace(task: Message) -> int:
    period = task.get("kill_policy", {}).get("grace_period", {}).get("nanoseconds")
    return GRACE if period is None else -(-int(period) // 10**9)


def _unsupported(task_id: str, field: str, expected: str) -> InputError:
    return InputError(f"task {task_id}: {field}", None, expected, "run it on an agent of its own")
