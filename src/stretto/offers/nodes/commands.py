"""Messages of the master to the agents of nodes, applied to pods."""

from collections.abc import Callable
from typing import Final

from stretto.offers.master.state.outbox import AgentMessage
from stretto.offers.messages.schema import Message
from stretto.offers.nodes.agents import node_of
from stretto.offers.nodes.pods import TaskLaunch
from stretto.offers.nodes.tasks import TaskPods


class NodeCommands:
    """Applies the messages for the agents of nodes to pods."""

    def __init__(
        self,
        tasks: TaskPods,
        queue_of: Callable[[str], str],
        refusal: Callable[[str, int], str],
    ) -> None:
        """Initialize with the pods of tasks.

        Args:
            tasks: the pods.
            queue_of: returns the queue of a role.
            refusal: returns the reason why a node cannot run that many more pods; empty if it can.
        """
        self._tasks = tasks
        self._queue_of = queue_of
        self._refusal = refusal

    def carry_out(self, messages: list[AgentMessage], now: float) -> None:
        """Apply messages in their order; messages without an effect on a node are ignored."""
        launched: dict[str, int] = {}
        for each in messages:
            node = node_of(each.pid)
            if node is None:
                continue
            if each.name in ("RunTaskMessage", "RunTaskGroupMessage"):
                launched[node] = launched.get(node, 0) + 1
                self._launch(each.message, node, launched[node], now)
            else:
                handler = HANDLERS.get(each.name)
                if handler is not None:
                    handler(self._tasks, each.message, node, now)

    def _launch(self, message: Message, node: str, count: int, now: float) -> None:
        """Create the pod of a task, or of a group of tasks."""
        grouped = message.get("task_group", {}).get("tasks")
        listed: tuple[Message, ...] = tuple(grouped) if grouped else (message["task"],)
        role = _role_of(listed)
        numbers = self._tasks.numbers(message["framework"]["id"]["value"], listed)
        if not numbers:
            return  # the tasks have ended since
        launch = TaskLaunch(message["framework"], listed, numbers, node, role, self._queue_of(role))
        refusal = self._refusal(node, count)
        if refusal:
            self._tasks.refuse(launch, refusal)
        else:
            self._tasks.launch(launch, now)


def _role_of(tasks: tuple[Message, ...]) -> str:
    for task in tasks:
        for resource in task.get("resources", ()):
            role: str = resource.get("allocation_info", {}).get("role", "*")
            return role
    return "*"


def _kill(tasks: TaskPods, message: Message, node: str, now: float) -> None:
    del node
    tasks.kill((message["framework_id"]["value"], message["task_id"]["value"]), now)


def _acknowledged(tasks: TaskPods, message: Message, node: str, now: float) -> None:
    del node
    key = message["framework_id"]["value"], message["task_id"]["value"]
    tasks.acknowledge(key, message["uuid"], now)


def _end_framework(tasks: TaskPods, message: Message, node: str, now: float) -> None:
    del node
    tasks.kill_framework(message["framework_id"]["value"], now)


def _end_executor(tasks: TaskPods, message: Message, node: str, now: float) -> None:
    """End an executor; the executor of a command task is the task itself."""
    del node
    tasks.kill((message["framework_id"]["value"], message["executor_id"]["value"]), now)


def _framework_returned(tasks: TaskPods, message: Message, node: str, now: float) -> None:
    del node
    tasks.resend(message["framework_id"]["value"], now)


def _drain(tasks: TaskPods, message: Message, node: str, now: float) -> None:
    del message
    tasks.kill_on(node, now)


HANDLERS: Final[dict[str, Callable[[TaskPods, Message, str, float], None]]] = {
    "KillTaskMessage": _kill,
    "StatusUpdateAcknowledgementMessage": _acknowledged,
    "ShutdownFrameworkMessage": _end_framework,
    "ShutdownExecutorMessage": _end_executor,
    "UpdateFrameworkMessage": _framework_returned,
    "DrainSlaveMessage": _drain,
}
"""Functions that apply messages to pods, without launches."""
