"""Tasks in pods: launched, killed and observed until their framework has acknowledged the end."""

from collections.abc import Iterable, Set
from typing import Final, NamedTuple

from stretto.api.wire.kinds import POD
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.offers.master.core.agents import reports
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.tasks import task_message
from stretto.offers.messages.schema import Message
from stretto.offers.nodes import pods, states
from stretto.offers.nodes.states import TaskKey, TaskReport
from stretto.offers.nodes.updates import UpdateStreams
from stretto.offers.nodes.writes import PodWrites
from stretto.reconcile.cache import Change, ObjectCache, StoredObject

BY_NODE: Final = "node"
"""Index of the pods of tasks by their node."""
BY_TASK: Final = "task"
"""Index of the pods of tasks by framework and task."""
REFUSED: Final = "stretto/refused_pod_writes"
"""Metric: pods of tasks that the store forbids to delete or release."""
_LAUNCH_FAILED: Final = "REASON_CONTAINER_LAUNCH_FAILED"


class _HeldLaunch(NamedTuple):
    """A launch that waits until the pods of former tasks with the same ids are gone."""

    #: The launch.
    launch: pods.TaskLaunch
    #: Tasks of it that were killed meanwhile.
    killed: set[TaskKey]


class TaskPods:
    """The pods of tasks in one store."""

    def __init__(
        self, writes: PodWrites, master: MasterState, settings: pods.PodSettings, rng: Rng
    ) -> None:
        """Initialize with a master.

        Args:
            writes: writes the pods.
            master: the master.
            settings: settings of the pods.
            rng: source of the ids of status updates.
        """
        #: All pods of tasks.
        self.cache = ObjectCache(POD, "", self._changed)
        self.cache.add_index(BY_NODE, lambda pod: [pod.record.node] if pod.record.node else [])
        self.cache.add_index(BY_TASK, _task_keys)
        self._master = master
        #: Settings of the pods.
        self.settings = settings
        self._streams = UpdateStreams(rng)
        self._changes: list[Change] = []
        self._writes = writes
        self._killed: set[TaskKey] = set()
        self._held: list[_HeldLaunch] = []

    # ------------------------------------------------------------ commands of the master

    def launch(self, launch: pods.TaskLaunch, now: float) -> None:
        """Create the pod of tasks; a setting that pods do not support fails the tasks.

        Updates of former tasks with the same ids are dropped, and the launch waits until their pods
        are gone.
        """
        for key in launch.keys:
            self._forget(key)
        former = self._pods_of(launch)
        for pod in former:
            self._writes.delete(pod, now)
        if former:
            self._held.append(_HeldLaunch(launch, set()))
        else:
            self._start(launch, now)

    def _start(self, launch: pods.TaskLaunch, now: float) -> None:
        try:
            body = pods.pod_body(launch, self.settings)
        except InputError as error:
            self._report_all(launch, TaskReport("TASK_FAILED", str(error), _LAUNCH_FAILED))
            return
        self._writes.create(launch, body, now)

    def refuse(self, launch: pods.TaskLaunch, text: str) -> None:
        """Fail tasks that a node cannot run."""
        self._report_all(launch, TaskReport("TASK_FAILED", text, _LAUNCH_FAILED))

    def kill(self, key: TaskKey, now: float) -> None:
        """Delete the pod of a task."""
        for held in self._held:
            if key in held.launch.keys:
                held.killed.add(key)
                return
        self._killed.add(key)
        for found in list(self.cache.indexed(BY_TASK, "\n".join(key))):
            self._writes.delete(found, now)
            return
        for name, launch in self._writes.launched.items():
            if key in launch.keys:
                self._writes.delete_unseen(name, now)

    def kill_framework(self, framework_id: str, now: float) -> None:
        """Delete all pods of a framework that has ended, without reports."""
        for pod in list(self.cache):
            identity = states.identity_of(pod)
            if identity is not None and identity.framework_id == framework_id:
                self._killed.update(identity.keys)
                self._writes.delete(pod, now)

    def kill_on(self, node: str, now: float) -> None:
        """Delete all pods of tasks on a node."""
        for pod in self.on_node(node):
            identity = states.identity_of(pod)
            self._killed.update(identity.keys if identity is not None else ())
            self._writes.delete(pod, now)

    def acknowledge(self, key: TaskKey, uuid: str, now: float) -> None:
        """Record an acknowledged update; after the last one the pod is deleted."""
        if not self._streams.acknowledge(key, uuid, now):
            return
        for pod in list(self.cache.indexed(BY_TASK, "\n".join(key))):
            identity = states.identity_of(pod)
            if identity is not None and all(map(self._streams.is_done, identity.keys)):
                self._writes.delete(pod, now)
            return
        self._forget(key)

    def resend(self, framework_id: str, now: float) -> None:
        """Send the unacknowledged updates of a framework that has returned."""
        self._streams.resend(framework_id, now)

    def resend_from(self, agent_id: str, now: float) -> None:
        """Send the unacknowledged updates of an agent that has returned."""
        self._streams.resend_from(agent_id, now)

    # ------------------------------------------------------------ reading

    def on_node(self, node: str) -> list[StoredObject]:
        """The pods of tasks on a node."""
        return list(self.cache.indexed(BY_NODE, node))

    def has_ended(self, key: TaskKey) -> bool:
        """True if the pod of a task has ended, perhaps before the framework is informed."""
        return self._streams.has_ended(key)

    def reported(self, node: str, agent_id: str) -> tuple[list[Message], list[Message]]:
        """The frameworks and tasks that the agent of a node reports when it registers.

        Tasks of a former node with the same name are lost, although their pods may still run.
        """
        frameworks: dict[str, Message] = {}
        tasks: list[Message] = []
        for pod in self.on_node(node):
            identity = states.identity_of(pod)
            if identity is None:
                continue
            frameworks[identity.framework_id] = identity.framework
            for number, task in enumerate(identity.tasks):
                killed = identity.keys[number] in self._killed
                state = states.report_of(pod, number, killed=killed).state
                tasks.append(task | {"state": state})
        for launch in self._unseen():
            frameworks[launch.framework_id] = launch.framework
            tasks += [task_message(each, launch.framework_id) for each in launch.tasks]
        mine = [each for each in tasks if each["agent_id"]["value"] == agent_id]
        wanted = {each["framework_id"]["value"] for each in mine}
        return [each for key, each in frameworks.items() if each and key in wanted], mine

    @property
    def next_due(self) -> float:
        """Time of the next write or update; infinity for none."""
        return min(self._streams.next_due, self._writes.next_due)

    @property
    def trouble(self) -> str:
        """Reason why pods of tasks cannot be deleted or released; empty without one."""
        refusals = self._writes.refusals
        if not refusals:
            return ""
        (namespace, name), text = next(iter(refusals.items()))
        return (
            f"{len(refusals)} writes are refused and will be repeated; {namespace}/{name}: {text}"
        )

    # ------------------------------------------------------------ a step

    def step(self, now: float) -> set[str]:
        """Send due writes and report changes; return the nodes of changed pods."""
        for refused in self._writes.send(now, self._is_wanted):
            self.refuse(*refused)
        self._master.counters[REFUSED] = len(self._writes.refusals)
        changes, self._changes = self._changes, []
        nodes = {node for each in changes if (node := each.object.record.node)}
        unseen = {key for each in self._unseen() for key in each.keys}
        for change in changes:
            self._follow(change, unseen, now)
        if changes:
            self._release(now)
        for update in list(self._streams.due(now)):
            reports.receive(self._master, "", "StatusUpdateMessage", {"update": update, "pid": ""})
        return nodes

    def _changed(self, change: Change) -> None:
        self._changes.append(change)
        displaced = self._writes.note(change, self._master.now)
        if displaced is not None:
            self.launch(displaced, self._master.now)

    def _unseen(self) -> list[pods.TaskLaunch]:
        """Launches whose pod is not visible; a visible pod with their ids ran former tasks."""
        return [*self._writes.launched.values(), *(each.launch for each in self._held)]

    def _follow(self, change: Change, unseen: Set[TaskKey], now: float) -> None:
        """Report the states of the tasks of one pod, except tasks whose own pod is not visible."""
        pod = change.object
        identity = states.identity_of(pod)
        if identity is None:
            return
        framework = self._master.frameworks.get(identity.framework_id)
        if framework is None and self._master.frameworks.is_completed(identity.framework_id):
            self._end(pod, identity, change, now)
            return
        if framework is None and change.new is not None:
            return
        shows_killing = framework is not None and "TASK_KILLING_STATE" in framework.capabilities
        read = states.report_of if change.new is not None else states.report_of_deleted
        for number, key in enumerate(identity.keys):
            if key in unseen:
                continue
            report = read(pod, number, killed=key in self._killed)
            if report.state == "TASK_KILLING" and not shows_killing:
                continue
            if change.new is None and self._streams.is_done(key):
                self._forget(key)
                continue
            agent_id: str = identity.tasks[number]["agent_id"]["value"]
            self._report(key, agent_id, report)
        if change.new is None:
            self._end_executor(identity)

    def _end(
        self, pod: StoredObject, identity: states.PodIdentity, change: Change, now: float
    ) -> None:
        """Delete a pod of a framework that has ended; after its deletion nothing is sent."""
        if change.new is not None:
            self._writes.delete(pod, now)
            return
        for key in identity.keys:
            self._forget(key)

    def _end_executor(self, identity: states.PodIdentity) -> None:
        """End the executor of a group whose pod is gone."""
        first = identity.tasks[0]
        if "executor_id" in first:
            message = {
                "slave_id": first["agent_id"],
                "framework_id": first["framework_id"],
                "executor_id": first["executor_id"],
                "status": 0,
            }
            reports.receive(self._master, "", "ExitedExecutorMessage", message)

    def _pods_of(self, launch: pods.TaskLaunch) -> list[StoredObject]:
        """The visible pods of tasks with the ids of a launch."""
        found = (self.cache.indexed(BY_TASK, "\n".join(key)) for key in launch.keys)
        return [pod for listed in found for pod in listed]

    def _release(self, now: float) -> None:
        """Launch tasks that have waited for the deletion of pods."""
        held, self._held = self._held, []
        for each in held:
            if self._pods_of(each.launch):
                self._held.append(each)
                continue
            if each.killed:
                killed = TaskReport("TASK_KILLED", "Killed before the launch")
                self._report_all(each.launch, killed)
            else:
                self._start(each.launch, now)

    def _report_all(self, launch: pods.TaskLaunch, report: TaskReport) -> None:
        for task in launch.tasks:
            key = launch.framework_id, task["task_id"]["value"]
            self._report(key, task["agent_id"]["value"], report)

    def _report(self, key: TaskKey, agent_id: str, report: TaskReport) -> None:
        self._streams.add(key, agent_id, report, (self._master.wall, self._master.now))

    def _forget(self, key: TaskKey) -> None:
        self._streams.forget(key)
        self._killed.discard(key)

    def _is_wanted(self, launch: pods.TaskLaunch) -> bool:
        """True if the master still has a task of a launch."""
        agent = self._master.agents.get(launch.tasks[0]["agent_id"]["value"])
        framework_id = launch.framework_id
        return agent is not None and any(agent.task(framework_id, e) for e in launch.task_ids)


def _task_keys(pod: StoredObject) -> Iterable[str]:
    identity = states.identity_of(pod)
    return () if identity is None else ["\n".join(key) for key in identity.keys]
