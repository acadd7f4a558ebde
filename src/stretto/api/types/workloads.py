"""Workloads: the pods that a controller maintains; pod templates stay raw."""

import msgspec

from stretto.api.wire.meta import NO_TEXTS, LabelSelector, ObjectMeta, Wire


class ReplicaSpec(Wire, frozen=True):
    """Common fields of Deployment, ReplicaSet and StatefulSet."""

    #: Desired number of pods; absent means 1.
    replicas: int | None = None
    #: Selector of its pods; absent matches none.
    selector: LabelSelector | None = None
    #: Pod template as raw JSON; ``codec.decode_template`` reads it.
    template: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    #: Headless service that names the pods; StatefulSet only.
    service_name: str = ""

    def wanted(self) -> int:
        """Desired number of pods, with the default of Kubernetes."""
        return 1 if self.replicas is None else self.replicas


class ReplicaStatus(Wire, frozen=True):
    """Observed numbers of pods."""

    #: Number of pods.
    replicas: int = 0
    #: Number of ready pods.
    ready_replicas: int = 0
    #: Number of pods that have been ready for the required time.
    available_replicas: int = 0
    #: Generation of the observed spec.
    observed_generation: int = 0


class Deployment(Wire, frozen=True):
    """Maintains pods through ReplicaSets."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired state.
    spec: ReplicaSpec = ReplicaSpec()
    #: Observed state.
    status: ReplicaStatus = ReplicaStatus()


class ReplicaSet(Wire, frozen=True):
    """Maintains a number of equal pods."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired state.
    spec: ReplicaSpec = ReplicaSpec()
    #: Observed state.
    status: ReplicaStatus = ReplicaStatus()


class StatefulSet(Wire, frozen=True):
    """Maintains numbered pods."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired state.
    spec: ReplicaSpec = ReplicaSpec()
    #: Observed state.
    status: ReplicaStatus = ReplicaStatus()


class ReplicationControllerSpec(Wire, frozen=True):
    """Desired state of a ReplicationController."""

    #: Desired number of pods; absent means 1.
    replicas: int | None = None
    #: Labels of its pods; a plain map instead of a selector.
    selector: dict[str, str] = NO_TEXTS
    #: Pod template as raw JSON.
    template: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    def wanted(self) -> int:
        """Desired number of pods, with the default of Kubernetes."""
        return 1 if self.replicas is None else self.replicas


class ReplicationController(Wire, frozen=True):
    """Predecessor of the ReplicaSet."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired state.
    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    #: Observed state.
    status: ReplicaStatus = ReplicaStatus()


class DaemonSetSpec(Wire, frozen=True):
    """Desired state of a DaemonSet."""

    #: Selector of its pods; absent matches none.
    selector: LabelSelector | None = None
    #: Pod template as raw JSON.
    template: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class DaemonSetStatus(Wire, frozen=True):
    """Numbers of nodes of a DaemonSet."""

    #: Nodes that should run a pod.
    desired_number_scheduled: int = 0
    #: Nodes that run a pod.
    current_number_scheduled: int = 0
    #: Nodes with a ready pod.
    number_ready: int = 0


class DaemonSet(Wire, frozen=True):
    """Maintains one pod on each node."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired state.
    spec: DaemonSetSpec = DaemonSetSpec()
    #: Observed state.
    status: DaemonSetStatus = DaemonSetStatus()


class JobSpec(Wire, frozen=True):
    """Desired state of a Job."""

    #: Number of simultaneous pods; absent means 1.
    parallelism: int | None = None
    #: Required number of successes; absent means that one success completes the Job.
    completions: int | None = None
    #: Selector of its pods; absent until the API server sets one.
    selector: LabelSelector | None = None
    #: Pod template as raw JSON.
    template: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    #: True if the Job is suspended, so that it has no pods.
    suspend: bool = False
    #: Number of tolerated failures; absent means 6.
    backoff_limit: int | None = None
    #: ``NonIndexed`` (when absent) or ``Indexed``.
    completion_mode: str | None = None

    def wanted(self) -> int:
        """Number of simultaneous pods, at most the required successes, with defaults applied."""
        at_once = 1 if self.parallelism is None else self.parallelism
        return at_once if self.completions is None else min(at_once, self.completions)


class JobStatus(Wire, frozen=True):
    """Progress of a Job."""

    #: Number of pending and running pods.
    active: int = 0
    #: Number of pods that succeeded.
    succeeded: int = 0
    #: Number of pods that failed.
    failed: int = 0


class Job(Wire, frozen=True):
    """Runs pods until enough of them succeed."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired state.
    spec: JobSpec = JobSpec()
    #: Progress.
    status: JobStatus = JobStatus()
