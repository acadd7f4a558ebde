"""A drawn fleet in virtual time: its events and its progress."""

from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec

from stretto.api.kinds.federation import FEDERATED_CLUSTER, PROPAGATION_POLICY
from stretto.api.wire.kinds import DEPLOYMENT, NODE
from stretto.base.failpoints import Crash
from stretto.base.rng import Rng
from stretto.federation import names
from stretto.sim.fleet.building import built, settings_of
from stretto.sim.fleet.description import ClusterShape, FleetDescription
from stretto.sim.fleet.parts import FleetParts
from stretto.stores.store import Deletion, Patch
from stretto_lab.chaos.fleets.draws import MOVES, FleetMove, drawn
from stretto_lab.chaos.fleets.workloads import (
    OWN,
    DrawnWorkload,
    course,
    deployment_spec,
    drawn_workload,
    placement,
    policy_spec,
    space_of,
)


class FleetWorld:
    """A fleet of embedded members whose controllers may be killed at any write."""

    def __init__(self, seed: int) -> None:
        """Draw the fleet of a seed, and place its Deployments."""
        self.rng = Rng(seed).child("fleet-chaos")
        #: Settings of the whole seed.
        self.draw = drawn(self.rng)
        #: Names of the clusters that are not lost permanently.
        self.clusters = list(self.draw.clusters)
        #: Deployments by name.
        self.workloads: dict[str, DrawnWorkload] = {}
        #: Kills by the write at which they happened.
        self.crashes: Counter[str] = Counter()
        #: True if the controllers of the host should run.
        self.runs = True
        self._writes_left: int | None = None
        shapes = tuple(
            ClusterShape(name, nodes=self.rng.randint(1, 2), cpu=32) for name in self.clusters
        )
        described = FleetDescription(shapes)
        parts = FleetParts(
            course, failpoint=self._reach, applies=self.draw.applies, shards=self.draw.shards
        )
        settings = replace(settings_of(described), failover=self.draw.failover, leave_timeout=20.0)
        #: The host, its members and its controllers.
        self.fleet = built(described, settings, parts)
        for name in self.clusters:
            self._create_own(name)
        for at in range(self.draw.workloads):
            self._create(f"web{at}")
        self.advance(5.0)

    @property
    def has_host(self) -> bool:
        """True if the API server of the host answers."""
        return self.fleet.served.is_readable

    # ---------------------------------------------------------------- going on

    def move(self) -> FleetMove:
        """Run the drawn kind of progress."""
        made = self.rng.choice(MOVES)
        if made is FleetMove.HOST:
            self._guarded(self._reconcile, self.rng.randint(1, 4))
        elif made is FleetMove.MEMBER:
            self.fleet.members[self.rng.choice(self.clusters)].step()
        elif made is FleetMove.DELAY:
            clock = self.fleet.clock
            clock.set(clock.monotonic() + self.rng.choice((0.1, 1.0, 3.0)))
        else:
            self.advance(self.rng.choice((0.0, 0.5, 1.0, 3.0, 10.0)))
        return made

    def advance(self, seconds: float) -> None:
        """Run everything that is due, and advance the time."""
        self._guarded(self.fleet.run_until, self.fleet.clock.monotonic() + seconds)

    def heal(self) -> None:
        """Make everything answer and have capacity, and run for long without events."""
        self._writes_left = None
        if not self.has_host:
            self.fleet.served.restart()
        for name in self.clusters:
            self.fleet.members[name].start()
            self.fill(name, is_full=False)
        self.restart(stays=False)
        self.advance(200.0)

    def kill_at(self, writes: int) -> None:
        """Kill the controllers after a number of points before and after writes."""
        self._writes_left = writes

    def restart(self, *, stays: bool) -> None:
        """Kill the controllers; start them unless they stay down."""
        self.fleet.stop()
        self.runs = not stays
        if self.runs:
            self._guarded(self.fleet.start)

    def take_over(self) -> None:
        """Replace the process of one shard, or divide the objects among another number of them."""
        if self.rng.random() < 0.5:
            shard = self.rng.randint(0, len(self.fleet.federations) - 1)
            self._guarded(self.fleet.start_shard, shard)
        else:
            self._guarded(self.fleet.divide, self.rng.randint(1, 3))

    # ---------------------------------------------------------------- objects

    def patch(self, work: DrawnWorkload, spec: dict[str, Any]) -> None:
        """Change the Deployment of a workload."""
        self.fleet.host.patch(DEPLOYMENT, [Patch(space_of(work.name), work.name, {"spec": spec})])

    def migrate(self, work: DrawnWorkload) -> None:
        """Draw other weights for a workload."""
        body = {"spec": {"placement": placement(self.rng, self.clusters)}}
        self.fleet.host.patch(
            PROPAGATION_POLICY.kind, [Patch(space_of(work.name), work.name, body)]
        )

    def fill(self, cluster: str, *, is_full: bool) -> None:
        """Make the nodes of a member unschedulable, or schedulable again."""
        store = self.fleet.members[cluster].store
        for record in store.list(NODE).records:
            change = {"spec": {"unschedulable": is_full or None}}
            store.patch(NODE, [Patch("", record.name, change)])

    def lose(self, cluster: str) -> None:
        """Lose a member permanently; a user deletes its cluster and draws new weights."""
        self.clusters.remove(cluster)
        self.fleet.members[cluster].stop()
        self.fleet.host.delete(FEDERATED_CLUSTER.kind, [Deletion("", cluster)])
        for work in self.workloads.values():
            work.lose(cluster)
            self.migrate(work)

    # ---------------------------------------------------------------- inside

    def _reconcile(self, most: int) -> None:
        if self.fleet.is_running:
            several = self.fleet.federations
            chosen = several[0] if len(several) == 1 else self.rng.choice(several)
            chosen.loop.step(most)

    def _guarded(self, action: Any, *values: Any) -> None:
        """Run an action; a crash kills the controllers and restarts them."""
        try:
            action(*values)
        except Crash as crash:
            self.crashes[str(crash)] += 1
            self.restart(stays=False)

    def _reach(self, name: str) -> None:
        """Kill the controllers if this is the drawn write."""
        if self._writes_left is None:
            return
        self._writes_left -= 1
        if self._writes_left < 0:
            self._writes_left = None
            raise Crash(name)

    def _create(self, name: str) -> None:
        """Create a Deployment with its policy."""
        work = self.workloads[name] = drawn_workload(self.rng, name)
        spec = policy_spec(self.rng, self.clusters, migrates=self.draw.migrates)
        self._put(PROPAGATION_POLICY.kind, name, {}, spec)
        self._put(DEPLOYMENT, name, {names.POLICY: name}, deployment_spec(work))

    def _create_own(self, cluster: str) -> None:
        """Create a Deployment that the federation must not change."""
        template = DrawnWorkload(OWN, 1, 1, 1).pod_template()
        body = {"metadata": {"name": OWN}, "spec": {"replicas": 1, "template": template}}
        self.fleet.members[cluster].store.create(DEPLOYMENT, [msgspec.json.encode(body)])

    def _put(self, kind: Any, name: str, labels: dict[str, str], spec: dict[str, Any]) -> None:
        metadata = {"name": name, "namespace": space_of(name), "labels": labels}
        body = {"metadata": metadata, "spec": spec}
        self.fleet.host.create(kind, [msgspec.json.encode(body)])
