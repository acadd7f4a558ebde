"""Tasks of Omega jobs as pod rows: created at arrival, assumed at commit, removed at the end."""

import numpy as np
import numpy.typing as npt

from stretto.api.types.heads import decode_pod_head
from stretto.inputs.neutral.fleet import FleetPod
from stretto.inputs.objects.objects import pod_body
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodEvent, step_pods
from stretto.state.rows.pods import NewPod
from stretto_lab.studies.omega.model import OmegaJob

Ints = npt.NDArray[np.int64]


class TaskRows:
    """The pod rows of all tasks in a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """Start without tasks."""
        self._cluster = cluster
        self._classes: dict[tuple[int, int], int] = {}

    def add(self, number: int, job: OmegaJob, now: float) -> tuple[int, ...]:
        """Create dispatched rows for the tasks of a job; ``now`` is the arrival in seconds."""
        cluster = self._cluster
        class_id = self._class_of(job)
        names = [f"{number}-{task}" for task in range(job.tasks)]
        rows = cluster.pods.add([NewPod(n, "omega", n, class_id, 0, 1, now) for n in names])
        cluster.classes.use(class_id, len(rows))
        step_pods(cluster.pods.state, rows, PodEvent.DISPATCH)
        return tuple(rows.tolist())

    def assume(self, rows: Ints) -> None:
        """Mark rows whose claims were granted."""
        step_pods(self._cluster.pods.state, rows, PodEvent.ASSUME)

    def end(self, rows: Ints) -> None:
        """Remove tasks that have finished."""
        pods = self._cluster.pods
        self._cluster.charges.uncharge_plain(rows, pods.slot[rows])
        for row in rows.tolist():
            self._cluster.classes.release(int(pods.class_id[row]))
            pods.remove(row)

    def _class_of(self, job: OmegaJob) -> int:
        """Return the class of the tasks of a job; later jobs of the same shape reuse the class."""
        shape = (job.cpu_milli, job.memory_mib)
        class_id = self._classes.get(shape)
        if class_id is None:
            body = pod_body(FleetPod("task", *shape))
            class_id = self._cluster.classes.intern(decode_pod_head(body), body)
            self._cluster.classes.use(class_id)
            self._classes[shape] = class_id
        return class_id
