"""Workloads: how many pods of which kind a controller keeps; templates stay raw."""

import msgspec

from stretto.api.wire.meta import NO_TEXTS, LabelSelector, ObjectMeta, Wire


class ReplicaSpec(Wire, frozen=True):
    """What Deployment, ReplicaSet and StatefulSet have in common."""

    #: Pods wanted; absent means 1.
    replicas: int | None = None
    #: The pods that belong to it; absent means none.
    selector: LabelSelector | None = None
    #: The pod to make, as raw JSON: ``codec.decode_template`` reads it.
    template: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    #: The headless service that names the pods; StatefulSet only.
    service_name: str = ""

    def wanted(self) -> int:
        """Pods wanted, with Kubernetes' default."""
        return 1 if self.replicas is None else self.replicas


class ReplicaStatus(Wire, frozen=True):
    """How many pods there are."""

    #: Pods there are.
    replicas: int = 0
    #: Pods that are ready.
    ready_replicas: int = 0
    #: Pods that have been ready long enough.
    available_replicas: int = 0
    #: Generation of the spec that this speaks of.
    observed_generation: int = 0


class Deployment(Wire, frozen=True):
    """Keeps pods alive through ReplicaSets."""

    #: Identity.
    metadata: ObjectMeta
    #: What is wanted.
    spec: ReplicaSpec = ReplicaSpec()
    #: What there is.
    status: ReplicaStatus = ReplicaStatus()


class ReplicaSet(Wire, frozen=True):
    """Keeps equal pods alive."""

    #: Identity.
    metadata: ObjectMeta
    #: What is wanted.
    spec: ReplicaSpec = ReplicaSpec()
    #: What there is.
    status: ReplicaStatus = ReplicaStatus()


class StatefulSet(Wire, frozen=True):
    """Keeps numbered pods alive."""

    #: Identity.
    metadata: ObjectMeta
    #: What is wanted.
    spec: ReplicaSpec = ReplicaSpec()
    #: What there is.
    status: ReplicaStatus = ReplicaStatus()


class ReplicationControllerSpec(Wire, frozen=True):
    """What the forerunner of the ReplicaSet wants."""

    #: Pods wanted; absent means 1.
    replicas: int | None = None
    #: Labels of the pods; a plain map, not a selector.
    selector: dict[str, str] = NO_TEXTS
    #: The pod to make, as raw JSON.
    template: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class ReplicationController(Wire, frozen=True):
    """The forerunner of the ReplicaSet."""

    #: Identity.
    metadata: ObjectMeta
    #: What is wanted.
    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    #: What there is.
    status: ReplicaStatus = ReplicaStatus()


class DaemonSetSpec(Wire, frozen=True):
    """One pod a node."""

    #: The pods that belong to it; absent means none.
    selector: LabelSelector | None = None
    #: The pod to make, as raw JSON.
    template: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class DaemonSetStatus(Wire, frozen=True):
    """On how many nodes it runs."""

    #: Nodes that should have one.
    desired_number_scheduled: int = 0
    #: Nodes that have one.
    current_number_scheduled: int = 0
    #: Nodes whose pod is ready.
    number_ready: int = 0


class DaemonSet(Wire, frozen=True):
    """Keeps one pod on each node."""

    #: Identity.
    metadata: ObjectMeta
    #: What is wanted.
    spec: DaemonSetSpec = DaemonSetSpec()
    #: What there is.
    status: DaemonSetStatus = DaemonSetStatus()


class JobSpec(Wire, frozen=True):
    """Work that ends."""

    #: Pods at once; absent means 1.
    parallelism: int | None = None
    #: Successes wanted; absent means that any one success is enough.
    completions: int | None = None
    #: The pods that belong to it; absent until the API server has made one.
    selector: LabelSelector | None = None
    #: The pod to make, as raw JSON.
    template: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    #: Held back: no pods while true.
    suspend: bool = False
    #: Failures that are borne; absent means 6.
    backoff_limit: int | None = None
    #: ``NonIndexed`` (when absent) or ``Indexed``.
    completion_mode: str | None = None

    def wanted(self) -> int:
        """Pods at once, with Kubernetes' defaults: never more than successes are wanted."""
        at_once = 1 if self.parallelism is None else self.parallelism
        return at_once if self.completions is None else min(at_once, self.completions)


class JobStatus(Wire, frozen=True):
    """How far the work is."""

    #: Pods that run or wait.
    active: int = 0
    #: Pods that ended well.
    succeeded: int = 0
    #: Pods that failed.
    failed: int = 0


class Job(Wire, frozen=True):
    """Runs pods until enough have succeeded."""

    #: Identity.
    metadata: ObjectMeta
    #: The work.
    spec: JobSpec = JobSpec()
    #: How far it is.
    status: JobStatus = JobStatus()
