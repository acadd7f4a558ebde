"""A plane in the test process over a real API server, behind a proxy with faults."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import msgspec

from stretto.api.wire.kinds import POD
from stretto.base.clock import Clock, WallClock
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.base.rng import Rng
from stretto.daemons.retrying_store import RetryingStore, StoppedError
from stretto.daemons.scheduler import REPORT, plane_config
from stretto.explain.doctor.doctor import CheckedObjects, examine, subject_of
from stretto.explain.doctor.findings import Finding
from stretto.framework.profile.profile import load_profile
from stretto.plane.plane import Plane
from stretto.sim.states.clusters import listed
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto.stores.kube.transport.options import KubeOptions
from stretto.stores.store import EventType, Store
from stretto_lab.control_plane.cluster import ControlPlane
from stretto_lab.control_plane.credentials import ADMIN
from stretto_lab.control_plane.faulty_wire import FaultyWire
from tests.contract.kube_subject import SURE
from tests.e2e.daemon import PODS, bound, groups, pod, pods_of, put, ready_nodes, until, why

GROUPS = groups()
NAMES = frozenset({"stretto"})
LONGEST = 90.0
"""Timeout of any wait in seconds; a limit of the tests, not of the product."""
QUICK = KubeOptions(write_timeout=2.0, read_timeout=4.0, answer=3.0, longest_wait=1.0)
"""Short timeouts for tests that wait for a failure."""


class Places:
    """All nodes on which a pod was ever observed, by a separate watch."""

    def __init__(self, store: KubeStore) -> None:
        listing = store.list(POD)
        self._watch = store.watch(POD, listing.version)
        self._seen = {each.uid: {each.node} for each in listing.records if each.node}

    def most(self, site: ControlPlane) -> int:
        """The highest number of nodes of a pod, once all bound pods were observed."""
        uids = {each["metadata"]["uid"] for each in pods_of(site) if "nodeName" in each["spec"]}

        def all_seen() -> bool:
            self._look()
            return uids <= set(self._seen)

        until(all_seen, lambda: f"not observed: {uids - set(self._seen)}")
        return max((len(each) for each in self._seen.values()), default=0)

    def _look(self) -> None:
        while events := self._watch.poll():
            for event in events:
                if event.type is not EventType.DELETED and event.record.node:
                    self._seen.setdefault(event.record.uid, set()).add(event.record.node)

    def close(self) -> None:
        self._watch.close()


class Ground:
    """A plane that uses the proxy, and a direct connection to read the true state."""

    def __init__(
        self, site: ControlPlane, wire: FaultyWire, near: KubeStore, far: KubeStore
    ) -> None:
        self.site, self.wire, self.near, self.far = site, wire, near, far
        self.failpoint: Failpoint = no_failpoint
        self.plane = self.new_plane()
        self.places = Places(near)

    def new_plane(
        self, store: Store | None = None, clock: Clock | None = None, **more: Any
    ) -> Plane:
        """Create another plane, through the proxy unless a store is given."""
        config = plane_config(load_profile("default"), (), 1, "numpy", REPORT)
        config = msgspec.structs.replace(config, **more)
        clock = clock or WallClock()
        until = time.monotonic() + 4 * LONGEST

        def check() -> None:
            if time.monotonic() > until:
                raise StoppedError

        steady = RetryingStore(store or self.far, clock, check, lambda *_: None)
        return Plane(config, steady, clock, self._visit)

    def _visit(self, name: str) -> None:
        self.failpoint(name)  # tests may replace it

    # ------------------------------------------------------------ objects

    def nodes(self, *names: str, cpu: str = "8") -> None:
        """Create Ready nodes."""
        ready_nodes(self.site, *names, cpu=cpu)

    def pods(self, *names: str, cpu: str = "1", **spec: Any) -> None:
        """Create pods for stretto."""
        put(self.site, PODS, *(pod(name, cpu, **spec) for name in names))

    def owned(self, *names: str) -> None:
        """Create pods for stretto with an owner."""
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web"}
        for name in names:
            body = pod(name, "1")
            body["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
            put(self.site, PODS, body)

    def remove(self, name: str) -> None:
        """Delete a pod without a grace period."""
        assert self.site.send("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0").status == 200

    def bound(self) -> dict[str, str]:
        """Nodes of bound pods in etcd."""
        return bound(self.site)

    def why(self, name: str) -> str:
        """Condition messages of a pod."""
        return why(self.site, name)

    # ------------------------------------------------------------ steps

    def go(self, holds: Callable[[], bool], *more: Plane) -> None:
        """Step until a condition holds."""
        until = time.monotonic() + LONGEST
        while not holds():
            moved = [plane.step() for plane in (self.plane, *more)]
            if not any(moved):
                time.sleep(0.02)
            assert time.monotonic() < until, (self.bound(), self.far.troubles())

    def go_for(self, seconds: float, *more: Plane) -> None:
        """Step for some seconds."""
        until = time.monotonic() + seconds
        self.go(lambda: time.monotonic() > until, *more)

    def synced(self) -> None:
        """Step until all kinds are listed."""
        self.go(lambda: self.plane.pump.synced)

    def all_bound(self, count: int) -> Callable[[], bool]:
        """A condition: ``count`` pods are bound."""
        return lambda: len(self.bound()) == count

    # ------------------------------------------------------------ checks

    def laws_hold(self, *, own_state: bool = True) -> None:
        """Check that neither etcd nor the state of the plane violates a law."""
        records = listed(self.near).records
        assert examine(subject_of(records, NAMES)).broken == ()
        assert self.most_places() <= 1, "a pod was bound twice"
        if own_state:
            self.go(self.nothing_uncertain)
            self.go_for(0.3)
            self.go(lambda: self.own_findings() == ())

    def own_findings(self) -> tuple[Finding, ...]:
        """Findings in the state of the plane, compared with etcd.

        The state lags behind etcd, so callers have to wait.
        """
        records = listed(self.near).records
        audit = self.plane.dispatcher.audit
        return examine(CheckedObjects(self.plane.cluster, records, audit=audit)).broken

    def nothing_uncertain(self) -> bool:
        return not self.plane.binder.in_doubt

    def most_places(self) -> int:
        """The highest number of nodes on which a pod was observed."""
        return self.places.most(self.site)

    def close(self) -> None:
        self.wire.heal()
        self.plane.close()
        self.places.close()


@contextmanager
def ground_on(site: ControlPlane, options: KubeOptions, user: str = ADMIN) -> Iterator[Ground]:
    """A plane of a user with its own proxy."""
    with ExitStack() as stack:
        wire = stack.enter_context(FaultyWire(site.port))
        near = stack.enter_context(closing(store_of(site, SURE)))
        far = stack.enter_context(closing(store_of(site, options, wire.server, user)))
        ground = Ground(site, wire, near, far)
        stack.callback(ground.close)
        yield ground


def store_of(
    site: ControlPlane, options: KubeOptions = SURE, server: str = "", user: str = ADMIN
) -> KubeStore:
    """A store of a user, optionally with another server address."""
    config = site.kubeconfig_of(user, server)
    return KubeStore(KubeconfigAccess(config), Rng(6 if server else 5), options)
