"""Drawn Deployments of the host, their policies, and the Deployments of other owners."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from stretto.base.rng import Rng
from stretto.reconcile.cache import Fields, StoredObject
from stretto.workloads.kubelet.course import PodCourse

OWN: Final = "own"
"""Name of a Deployment in every member that the federation does not manage."""


_OTHERS: Final = {"web1": "other"}
"""Namespaces besides the default one; with two and three shards each is in another shard."""


def space_of(name: str) -> str:
    """The namespace of a Deployment."""
    return _OTHERS.get(name, "default")


@dataclass(slots=True)
class DrawnWorkload:
    """A Deployment of the host and its desired state."""

    #: Its name.
    name: str
    #: Desired replicas.
    replicas: int
    #: Pods above the desired number while it rolls.
    surge: int
    #: Pods below the desired number while it rolls.
    unavailable: int
    #: Number of its template.
    template: int = 1
    #: Maximum desired replicas since the Deployment last ran exactly as desired.
    most: int = 0
    #: Available pods, without those that events outside the federation removed.
    least: int = 0
    #: Clusters that it has left while they did not answer; their pods are deleted when they answer.
    stranded: set[str] = field(default_factory=set)
    #: Clusters whose watches stall and in which an event outside the federation removed pods.
    unseen: set[str] = field(default_factory=set)

    def pod_template(self) -> Fields:
        """The template of its pods."""
        requests = {"requests": {"cpu": "1"}}
        container = {"name": "main", "image": f"v{self.template}", "resources": requests}
        return {"metadata": {"labels": {"app": self.name}}, "spec": {"containers": [container]}}

    def rescale(self, replicas: int) -> None:
        """Set a new number of replicas."""
        self.replicas = replicas
        self.most = max(self.most, replicas)
        self.least = min(self.least, replicas)

    def observe(self, total: int, available: int, ordered: int) -> None:
        """Record the pods that exist, that are and stay available, and that members are to run."""
        if available >= self.replicas and ordered >= self.replicas and not self.unseen:
            self.least = self.replicas
            if total == ordered == self.replicas:
                self.most = self.replicas
                self.stranded = set()

    def lose(self, cluster: str) -> None:
        """Record pods that external events remove; no minimum applies until they return.

        Controllers cannot react as long as the watches of the cluster stall.
        """
        self.least = 0
        self.unseen.add(cluster)


def course(pod: StoredObject) -> PodCourse:
    """A course in which pods are ready after a second."""
    del pod
    return PodCourse(ready_after=1.0)


def drawn_workload(rng: Rng, name: str) -> DrawnWorkload:
    """A Deployment with drawn replicas and limits."""
    made = DrawnWorkload(name, rng.randint(1, 8), rng.randint(1, 2), rng.randint(0, 2))
    made.most = made.replicas
    return made


def deployment_spec(work: DrawnWorkload) -> Fields:
    """The spec of the Deployment."""
    rolling = {"maxSurge": work.surge, "maxUnavailable": work.unavailable}
    return {
        "replicas": work.replicas,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
        "template": work.pod_template(),
    }


def policy_spec(rng: Rng, clusters: Sequence[str], *, migrates: bool) -> Fields:
    """The spec of the propagation policy."""
    moving = {"autoMigration": {"when": {"podUnschedulableFor": "10s"}}} if migrates else {}
    return {
        "schedulingMode": "Divide",
        "placement": placement(rng, clusters),
        "reschedulePolicy": {
            "rescheduleWhen": {"policyContentChanged": True},
            "replicaRescheduling": {"avoidDisruption": rng.random() < 0.5},
        },
        **moving,
    }


def placement(rng: Rng, clusters: Sequence[str]) -> list[dict[str, Any]]:
    """Weights of clusters; at least one of them is positive."""
    weights = [rng.randint(0, 3) for _ in clusters]
    if not any(weights):
        weights[0] = 1
    return [
        {"cluster": name, "preferences": {"weight": weight}}
        for name, weight in zip(clusters, weights, strict=True)
    ]
