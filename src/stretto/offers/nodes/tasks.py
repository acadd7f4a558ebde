"""Tasks in pods: launched, killed and observed until their framework has acknowledged the end.

A framework may use the id of an ended or lost task again while the pod of the former task still
exists. The pods of both tasks differ in the launch number, which the master stores with the task. A
restarted master therefore reads the state of a task only from the task's own pod.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from stretto.api.wire.kinds import POD
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.offers.master.core.agents import reports
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.tasks import SEEN, Task
from stretto.offers.messages.schema import Message
from stretto.offers.nodes import pods, states
from stretto.offers.nodes.states import ENDED, TaskKey, TaskReport
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


class RunningTasks(NamedTuple):
    """A pod with tasks of the master."""

    #: Uid of the pod.
    uid: str
    #: The role whose capacity the tasks use.
    role: str
    #: Tasks that have not ended.
    tasks: list[Task]


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

    # ------------------------------------------------------------ commands of the master

    def launch(self, launch: pods.TaskLaunch, now: float) -> None:
        """Create the pod of tasks; a setting that pods do not support fails the tasks.

        The master sends no more updates of former tasks with the same ids, and deletes their pods.
        """
        for key in launch.keys:
            self._forget(key)
            for pod in self._pods_of(key):
                self._writes.delete(pod, now)
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
        """Delete the pod of a task; this kills the other tasks of its group as well."""
        self._killed.add(key)
        for pod in self._pods_of(key):
            self._kill_pod(pod, now)
        for name, launch in self._writes.launched.items():
            if key in launch.keys:
                self._killed.update(launch.keys)
                self._writes.delete_unseen(name, now)

    def kill_framework(self, framework_id: str, now: float) -> None:
        """Delete all pods of a framework that has ended, without reports."""
        for pod in list(self.cache):
            identity = states.identity_of(pod)
            if identity is not None and identity.framework_id == framework_id:
                self._writes.delete(pod, now)

    def kill_on(self, node: str, now: float) -> None:
        """Delete all pods of tasks on a node."""
        for pod in self.on_node(node):
            self._kill_pod(pod, now)

    def _kill_pod(self, pod: StoredObject, now: float) -> None:
        """Delete a pod; its tasks are killed, unless the pod belongs to former tasks."""
        identity = states.identity_of(pod)
        if identity is not None and not self._is_past(identity):
            self._killed.update(identity.keys)
        self._writes.delete(pod, now)

    def acknowledge(self, key: TaskKey, uuid: str, now: float) -> None:
        """Record an acknowledged update; after the last one the pod is deleted."""
        if not self._streams.acknowledge(key, uuid, now):
            return
        found = self._pods_of(key)
        for pod in found:
            identity = states.identity_of(pod)
            if identity is not None and all(map(self._streams.is_done, identity.keys)):
                self._writes.delete(pod, now)
        if not found:
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

    def running_on(self, node: str) -> Iterator[RunningTasks]:
        """The pods on a node with tasks of the master that have not ended."""
        for pod in self.on_node(node):
            identity = states.identity_of(pod)
            found = map(self._task_of, identity.rows) if identity is not None else ()
            tasks = [e for e in found if e is not None and e.is_active]
            if identity is not None and tasks:
                active = [e for e in tasks if not self.has_ended((e.framework_id, e.id))]
                yield RunningTasks(pod.record.uid, identity.role, active)

    def numbers(self, framework_id: str, tasks: Sequence[Message]) -> tuple[int, ...]:
        """Launch numbers of tasks; empty if a task has ended since."""
        agent = self._master.agents.get(tasks[0]["agent_id"]["value"])
        ids = [each["task_id"]["value"] for each in tasks]
        found = [agent.task(framework_id, each) for each in ids] if agent is not None else []
        known = tuple(each.seen for each in found if each is not None)
        return known if len(known) == len(ids) else ()

    def has_ended(self, key: TaskKey) -> bool:
        """True if the pod of a task has ended, perhaps before the framework is informed."""
        return self._streams.has_ended(key)

    def reported(self, node: str, agent_id: str) -> tuple[list[Message], list[Message]]:
        """The frameworks and tasks that the agent of a node reports when it registers.

        Tasks of another node that had the same name are lost, although their pods may run on. Pods
        of a former task whose id a later task uses are not reported.
        """
        frameworks: dict[str, Message] = {}
        tasks: list[Message] = []
        for pod in self.on_node(node):
            identity = states.identity_of(pod)
            if identity is None or self._is_past(identity):
                continue
            frameworks[identity.framework_id] = identity.framework
            for number, task in enumerate(identity.rows):
                killed = identity.keys[number] in self._killed
                state = states.report_of(pod, number, killed=killed).state
                tasks.append(task | {"state": state})
        for launch in filter(self._is_wanted, self._writes.launched.values()):
            frameworks[launch.framework_id] = launch.framework
            tasks += launch.rows
        mine = [each for each in tasks if each["agent_id"]["value"] == agent_id]
        wanted = {each["framework_id"]["value"] for each in mine}
        return [each for key, each in frameworks.items() if each and key in wanted], mine

    @property
    def next_due(self) -> float:
        """Time of the next write or update; infinity for none."""
        return min(self._streams.next_due, self._writes.next_due)

    @property
    def trouble(self) -> str:
        """Reason why pods of tasks cannot be deleted or released; empty if there is none."""
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
        for change in changes:
            self._follow(change, now)
        for update in list(self._streams.due(now)):
            reports.receive(self._master, "", "StatusUpdateMessage", {"update": update, "pid": ""})
        return nodes

    def _changed(self, change: Change) -> None:
        self._changes.append(change)
        self._writes.note(change, self._master.now)

    def _follow(self, change: Change, now: float) -> None:
        """Report the states of the tasks of one pod, or delete the pod of former tasks."""
        pod = change.object
        identity = states.identity_of(pod)
        if identity is None:
            return
        if change.new is None:
            self._end_executor(identity.rows)
        if self._is_past(identity):
            self._clear(change, identity, now)
            return
        framework = self._master.frameworks.get(identity.framework_id)
        if framework is None and change.new is not None:
            return
        shows_killing = framework is not None and "TASK_KILLING_STATE" in framework.capabilities
        read = states.report_of if change.new is not None else states.report_of_deleted
        found = [
            read(pod, number, killed=key in self._killed)
            for number, key in enumerate(identity.keys)
        ]
        for number, (key, report) in enumerate(zip(identity.keys, found, strict=True)):
            if report.state == "TASK_KILLING" and not shows_killing:
                continue
            if change.new is None and self._streams.is_done(key):
                self._forget(key)
                continue
            agent_id: str = identity.rows[number]["agent_id"]["value"]
            self._report(key, agent_id, report)
        if change.new is not None:
            self._fail_group(change.new, identity, found, now)

    def _fail_group(
        self,
        pod: StoredObject,
        identity: states.PodIdentity,
        found: Sequence[TaskReport],
        now: float,
    ) -> None:
        """Kill the other tasks of a group in which a task has failed, as Mesos' executor does."""
        alive = [k for k, e in zip(identity.keys, found, strict=True) if e.state not in ENDED]
        if alive and any(each.state == "TASK_FAILED" for each in found) and not pod.is_terminating:
            self._killed.update(alive)
            self._writes.delete(pod, now)

    def _clear(self, change: Change, identity: states.PodIdentity, now: float) -> None:
        """Delete a pod of former tasks; drop their updates when the pod no longer exists."""
        if change.new is not None:
            self._writes.delete(change.new, now)
            return
        framework = self._master.frameworks.get(identity.framework_id)
        for key in identity.keys:
            if framework is None or key[1] not in framework.tasks:
                self._forget(key)

    def _end_executor(self, rows: Sequence[Message]) -> None:
        """End the executor of a group that has no pod, or no longer has one.

        The executor remains if a later group on the same agent uses it.
        """
        first = rows[0]
        if "executor_id" not in first:
            return
        agent = self._master.agents.get(first["agent_id"]["value"])
        framework_id: str = first["framework_id"]["value"]
        tasks = agent.tasks.get(framework_id, {}) if agent is not None else {}
        mine = {row.get(SEEN) for row in rows}
        executor: str = first["executor_id"]["value"]
        if any(e.executor_id == executor and e.seen not in mine for e in tasks.values()):
            return
        message = {
            "slave_id": first["agent_id"],
            "framework_id": first["framework_id"],
            "executor_id": first["executor_id"],
            "status": 0,
        }
        reports.receive(self._master, "", "ExitedExecutorMessage", message)

    def _pods_of(self, key: TaskKey) -> list[StoredObject]:
        """The visible pods of tasks with an id, including pods of former tasks."""
        return list(self.cache.indexed(BY_TASK, "\n".join(key)))

    def _is_past(self, identity: states.PodIdentity) -> bool:
        """True if a pod belongs to former tasks, about which nothing is reported.

        This is true if the framework has ended, if a later launch uses the id of a task, or if the
        agent is registered and has none of the tasks. In all cases the framework already knows the
        end.
        """
        framework = self._master.frameworks.get(identity.framework_id)
        if framework is None:
            return self._master.frameworks.is_completed(identity.framework_id)
        for row in identity.rows:
            later = framework.tasks.get(row["task_id"]["value"])
            if later is not None and row.get(SEEN, later.seen) != later.seen:
                return True
        is_registered = self._master.agents.get(identity.rows[0]["agent_id"]["value"]) is not None
        return is_registered and not any(map(self._task_of, identity.rows))

    def _task_of(self, row: Message) -> Task | None:
        """The task of the master for a launch, if the agent still has the task."""
        agent = self._master.agents.get(row["agent_id"]["value"])
        key = row["framework_id"]["value"], row["task_id"]["value"]
        task = agent.task(*key) if agent is not None else None
        return task if task is not None and row.get(SEEN, task.seen) == task.seen else None

    def _runs(self, row: Message) -> bool:
        """True if the task of a row has not ended."""
        task = self._task_of(row)
        return task is not None and task.is_active

    def _report_all(self, launch: pods.TaskLaunch, report: TaskReport) -> None:
        for task in launch.tasks:
            key = launch.framework_id, task["task_id"]["value"]
            self._report(key, task["agent_id"]["value"], report)
        self._end_executor(launch.rows)

    def _report(self, key: TaskKey, agent_id: str, report: TaskReport) -> None:
        self._streams.add(key, agent_id, report, (self._master.wall, self._master.now))

    def _forget(self, key: TaskKey) -> None:
        self._streams.forget(key)
        self._killed.discard(key)

    def _is_wanted(self, launch: pods.TaskLaunch) -> bool:
        """True if the master still has a task of a launch."""
        return any(map(self._runs, launch.rows))


def _task_keys(pod: StoredObject) -> Iterable[str]:
    identity = states.identity_of(pod)
    return () if identity is None else ["\n".join(key) for key in identity.keys]
