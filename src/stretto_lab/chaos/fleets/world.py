"""A drawn fleet: clusters, Deployments and their policies, and what happens to them."""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

import msgspec

from stretto.api.kinds.federation import PROPAGATION_POLICY
from stretto.api.wire.kinds import DEPLOYMENT
from stretto.base.rng import Rng
from stretto.federation import names
from stretto.federation.settings import FailoverRule
from stretto.reconcile.cache import StoredObject
from stretto.sim.fleet.building import built, settings_of
from stretto.sim.fleet.description import ClusterShape, FleetDescription
from stretto.sim.fleet.served import MemberMood
from stretto.stores.store import Patch
from stretto.workloads.kubelet import PodCourse

OWN: Final = "own"
"""Name of a Deployment in every member that is not the federation's."""
_RULE: Final = FailoverRule(after=15.0, back_after=10.0, most_lost=0.5)


class FleetEvent(Enum):
    """What happens from outside."""

    #: The replicas of a Deployment change.
    RESCALE = "rescale"
    #: Its template changes.
    UPDATE = "update"
    #: The weights of its policy change.
    MIGRATE = "migrate"
    #: A member no longer answers.
    SILENCE = "member silent"
    #: A member answers 429.
    BUSY = "member busy"
    #: A member answers again.
    RETURN = "member returns"
    #: The controllers of the host are killed and started again.
    RESTART = "controllers restart"
    #: The controllers of the host are killed; they start with the next such event.
    STOP = "controllers stop"
    #: A pod is deleted in a member.
    KILL_POD = "pod deleted"
    #: A user scales a managed Deployment in a member to 0.
    DRIFT = "drift"


@dataclass(slots=True)
class DrawnWorkload:
    """A Deployment of the host and what it should be."""

    #: Its name.
    name: str
    #: Wanted replicas.
    replicas: int
    #: Most replicas that were wanted since the fleet was last at rest.
    most: int
    #: Number of its template.
    template: int = 1


def course(pod: StoredObject) -> PodCourse:
    """Pods are ready after a second."""
    del pod
    return PodCourse(ready_after=1.0)


class FleetWorld:
    """A fleet of embedded members."""

    def __init__(self, seed: int) -> None:
        """Draw the fleet of a seed; its Deployments are placed."""
        self.rng = Rng(seed).child("fleet-chaos")
        #: Names of the clusters.
        self.clusters = [f"m{at}" for at in range(self.rng.randint(2, 4))]
        shapes = tuple(
            ClusterShape(name, nodes=self.rng.randint(1, 2), cpu=32) for name in self.clusters
        )
        described = FleetDescription(shapes)
        rule = _RULE if self.rng.random() < 0.5 else None
        self.fleet = built(described, replace(settings_of(described), failover=rule), course)
        #: Deployments by name.
        self.workloads: dict[str, DrawnWorkload] = {}
        #: Whether the controllers of the host run.
        self.runs = True
        for name in self.clusters:
            self._create_own(name)
        for at in range(self.rng.randint(1, 2)):
            self._create(f"web{at}")
        self.advance(5.0)

    # ---------------------------------------------------------------- events

    def happen(self, event: FleetEvent) -> bool:
        """Let an event happen; whether it could."""
        work = self.rng.choice(list(self.workloads.values()))
        member = self.fleet.members[self.rng.choice(self.clusters)]
        if event is FleetEvent.RESCALE:
            work.replicas = self.rng.randint(1, 8)
            work.most = max(work.most, work.replicas)
            self._patch(work, {"replicas": work.replicas})
        elif event is FleetEvent.UPDATE:
            work.template += 1
            self._patch(work, {"template": _template(work)})
        elif event is FleetEvent.MIGRATE:
            body = {"spec": {"placement": self._placement()}}
            change = Patch("default", work.name, body)
            self.fleet.host.patch(PROPAGATION_POLICY.kind, [change])
        elif event in _MOODS:
            member.served.set_mood(_MOODS[event])
        elif event in (FleetEvent.RESTART, FleetEvent.STOP):
            self._restart(stays=event is FleetEvent.STOP and self.runs)
        elif event is FleetEvent.DRIFT:
            change = Patch("default", work.name, {"spec": {"replicas": 0}})
            member.store.patch(DEPLOYMENT, [change])
        else:
            return self._kill(member.name)
        return True

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.fleet.run_until(self.fleet.clock.monotonic() + seconds)

    def heal(self) -> None:
        """All members answer, the controllers run, and nothing else happens for long."""
        for member in self.fleet.members.values():
            member.served.set_mood(MemberMood.ANSWERS)
        if not self.runs:
            self._restart(stays=False)
        self.advance(150.0)

    # ---------------------------------------------------------------- inside

    def _restart(self, *, stays: bool) -> None:
        """Kill the controllers; start them unless they stay down."""
        self.fleet.stop()
        self.runs = not stays
        if self.runs:
            self.fleet.start()

    def _kill(self, cluster: str) -> bool:
        """Delete a pod of the federation in a member; whether there is one."""
        from stretto.api.wire.kinds import POD
        from stretto.stores.store import Deletion

        store = self.fleet.members[cluster].store
        pods = [each.name for each in store.list(POD).records]
        if not pods:
            return False
        store.delete(POD, [Deletion("default", self.rng.choice(sorted(pods)))])
        return True

    def _placement(self) -> list[dict[str, Any]]:
        """Weights of all clusters, of which at least one is positive."""
        weights = [self.rng.randint(0, 3) for _ in self.clusters]
        if not any(weights):
            weights[0] = 1
        return [
            {"cluster": name, "preferences": {"weight": weight}}
            for name, weight in zip(self.clusters, weights, strict=True)
        ]

    def _create(self, name: str) -> None:
        """Create a Deployment with its policy."""
        work = self.workloads[name] = DrawnWorkload(name, self.rng.randint(1, 8), 0)
        work.most = work.replicas
        spec = {
            "schedulingMode": "Divide",
            "placement": self._placement(),
            "reschedulePolicy": {
                "rescheduleWhen": {"policyContentChanged": True},
                "replicaRescheduling": {"avoidDisruption": self.rng.random() < 0.5},
            },
        }
        self._put(PROPAGATION_POLICY.kind, name, {}, spec)
        rolling = {"maxSurge": self.rng.randint(1, 2), "maxUnavailable": self.rng.randint(0, 2)}
        body = {
            "replicas": work.replicas,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
            "template": _template(work),
        }
        self._put(DEPLOYMENT, name, {names.POLICY: name}, body)

    def _create_own(self, cluster: str) -> None:
        """Create a Deployment that the federation must leave alone."""
        work = DrawnWorkload(OWN, 1, 1)
        body = {"metadata": {"name": OWN}, "spec": {"replicas": 1, "template": _template(work)}}
        self.fleet.members[cluster].store.create(DEPLOYMENT, [msgspec.json.encode(body)])

    def _put(self, kind: Any, name: str, labels: dict[str, str], spec: dict[str, Any]) -> None:
        body = {"metadata": {"name": name, "labels": labels}, "spec": spec}
        self.fleet.host.create(kind, [msgspec.json.encode(body)])

    def _patch(self, work: DrawnWorkload, spec: dict[str, Any]) -> None:
        self.fleet.host.patch(DEPLOYMENT, [Patch("default", work.name, {"spec": spec})])


_MOODS: Final = {
    FleetEvent.SILENCE: MemberMood.SILENT,
    FleetEvent.BUSY: MemberMood.BUSY,
    FleetEvent.RETURN: MemberMood.ANSWERS,
}


def _template(work: DrawnWorkload) -> dict[str, Any]:
    requests = {"requests": {"cpu": "1"}}
    container = {"name": "main", "image": f"v{work.template}", "resources": requests}
    labels = {"app": work.name}
    return {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
