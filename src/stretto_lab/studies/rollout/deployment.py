"""A model of one member: its pods, and the Deployment controller of Kubernetes.

The controller scales the replica sets of all revisions in proportion when the replicas change.
Otherwise it rolls: it creates pods of the new revision up to replicas + max surge, deletes
unhealthy pods of old revisions, and deletes further old pods as long as enough pods are available.
Replica sets delete unavailable pods first.
"""

import math

from stretto.base.rng import Rng
from stretto.federation.planner.rollout.member import MemberSpec, PodCount


class DeploymentModel:
    """A Deployment in one cluster."""

    def __init__(self, spec: MemberSpec) -> None:
        self.spec = spec
        self.acting = spec
        self.reachable = True
        self._scaled = spec.replicas
        self._annotated = spec.replicas
        self._pods: dict[str, list[int]] = {spec.revision: [spec.replicas, spec.replicas]}
        """Pods and available pods, by revision, oldest first."""

    def pods(self) -> dict[str, PodCount]:
        """Pods by revision."""
        return {name: PodCount(*each) for name, each in self._pods.items() if each[0]}

    def total(self) -> int:
        """Pods that exist."""
        return sum(each[0] for each in self._pods.values())

    def available(self) -> int:
        """Pods that are available."""
        return sum(each[1] for each in self._pods.values())

    def write(self, spec: MemberSpec) -> None:
        """Store a specification; the controller observes it later."""
        self.spec = spec

    def lose(self) -> None:
        """Record that the cluster does not answer."""
        self.reachable = False

    def come_back(self) -> None:
        """Record that the cluster answers again."""
        self.reachable = True

    def observe(self) -> None:
        """Read the written specification, as the controller."""
        self.acting = self.spec
        self._pods.setdefault(self.acting.revision, [0, 0])

    def fail(self) -> bool:
        """Make one available pod unavailable; return true if there was an available pod."""
        for each in self._pods.values():
            if each[1]:
                each[1] -= 1
                return True
        return False

    def start(self, rng: Rng, chance: float) -> None:
        """Make each unavailable pod available with a chance."""
        for each in self._pods.values():
            each[1] += sum(rng.random() < chance for _ in range(each[0] - each[1]))

    def reconcile(self) -> None:
        """Run one pass of the controller."""
        spec = self.acting
        if self._scaled != spec.replicas or spec.paused:
            self._scale(spec)
            self._scaled = spec.replicas
        elif self._is_rolling(spec):
            self._roll(spec)
        else:
            self._resize(spec.revision, spec.replicas)

    def _is_rolling(self, spec: MemberSpec) -> bool:
        return any(each[0] for name, each in self._pods.items() if name != spec.revision)

    def _resize(self, revision: str, count: int) -> None:
        """Set the pods of a revision; unavailable ones go first."""
        pods = self._pods.setdefault(revision, [0, 0])
        pods[0] = max(0, count)
        pods[1] = min(pods[1], pods[0])

    def _scale(self, spec: MemberSpec) -> None:
        """Scale one replica set to the replicas, or several in proportion."""
        active = [name for name, each in self._pods.items() if each[0]]
        allowed = spec.replicas + spec.max_surge if spec.replicas else 0
        annotated, self._annotated = self._annotated, allowed
        if len(active) <= 1:
            self._resize(active[0] if active else spec.revision, spec.replicas)
            return
        if self._pods[spec.revision] == [spec.replicas, spec.replicas]:
            for name in active:
                self._resize(name, spec.replicas if name == spec.revision else 0)
            return
        left = change = allowed - self.total()
        ordered = sorted(active, key=lambda name: -self._pods[name][0])
        for name in ordered:
            size = self._pods[name][0]
            share = math.floor(size * allowed / max(1, annotated) + 0.5) - size
            share = min(share, left) if change > 0 else max(share, left, -size)
            self._resize(name, size + share)
            left -= share
        self._resize(ordered[0], self._pods[ordered[0]][0] + left)

    def _roll(self, spec: MemberSpec) -> None:
        self._annotated = spec.replicas + spec.max_surge
        new = self._pods[spec.revision]
        headroom = spec.replicas + spec.max_surge - self.total()
        new[0] += max(0, min(headroom, spec.replicas - new[0]))
        if new[0] > spec.replicas:
            self._resize(spec.revision, spec.replicas)
        least = spec.replicas - spec.max_unavailable
        most = self.total() - least - (new[0] - new[1])
        old = [each for name, each in self._pods.items() if name != spec.revision]
        for each in old:
            gone = max(0, min(each[0] - each[1], most))
            each[0] -= gone
            most -= gone
        spare = min(self.available() - least, most)
        for each in old:
            gone = max(0, min(each[0], spare))
            each[0] -= gone
            each[1] = min(each[1], each[0])
            spare -= gone
