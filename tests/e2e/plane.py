"""A whole plane in this process over a real API server, behind a wire that may be bad."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from stretto.api.wire.kinds import POD
from stretto.base.clock import Clock, WallClock
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.base.rng import Rng
from stretto.daemons.retrying_store import RetryingStore, StoppedError
from stretto.daemons.scheduler import plane_config
from stretto.explain.doctor.doctor import CheckedObjects, examine, subject_of
from stretto.explain.doctor.findings import Finding
from stretto.framework.profile.profile import load_profile
from stretto.plane.plane import Plane
from stretto.sim.history.clusters import listed
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
"""Seconds that anything may take here: a bound of the test, not of the product."""
QUICK = KubeOptions(write_patience=2.0, read_patience=4.0, answer=3.0, longest_wait=1.0)
"""Patience of those whose end a test waits for."""


class Places:
    """Every node that pods were ever seen on, by a watch beside whoever binds them."""

    def __init__(self, store: KubeStore) -> None:
        listing = store.list(POD)
        self._watch = store.watch(POD, listing.version)
        self._seen = {each.uid: {each.node} for each in listing.records if each.node}

    def most(self, site: ControlPlane) -> int:
        """The most nodes of any pod, once all that have one now were seen on it."""
        uids = {each["metadata"]["uid"] for each in pods_of(site) if "nodeName" in each["spec"]}

        def all_seen() -> bool:
            self._look()
            return uids <= set(self._seen)

        until(all_seen, lambda: f"not seen: {uids - set(self._seen)}")
        return max((len(each) for each in self._seen.values()), default=0)

    def _look(self) -> None:
        while events := self._watch.poll():
            for event in events:
                if event.type is not EventType.DELETED and event.record.node:
                    self._seen.setdefault(event.record.uid, set()).add(event.record.node)

    def close(self) -> None:
        self._watch.close()


class Ground:
    """A plane that schedules over the wire, and a good line beside it to see what is true."""

    def __init__(
        self, site: ControlPlane, wire: FaultyWire, near: KubeStore, far: KubeStore
    ) -> None:
        self.site, self.wire, self.near, self.far = site, wire, near, far
        self.failpoint: Failpoint = no_failpoint
        self.plane = self.new_plane()
        self.places = Places(near)

    def new_plane(self, store: Store | None = None, clock: Clock | None = None) -> Plane:
        """One more plane, over the wire unless another store is given."""
        config = plane_config(load_profile("default"), (), 1, "numpy", report=True)
        clock = clock or WallClock()
        until = time.monotonic() + 4 * LONGEST

        def check() -> None:
            if time.monotonic() > until:
                raise StoppedError

        steady = RetryingStore(store or self.far, clock, check, lambda *_: None)
        return Plane(config, steady, clock, self._visit)

    def _visit(self, name: str) -> None:
        self.failpoint(name)  # which may be another one by now

    # ------------------------------------------------------------ what is there

    def nodes(self, *names: str, cpu: str = "8") -> None:
        """Nodes that are ready by themselves."""
        ready_nodes(self.site, *names, cpu=cpu)

    def pods(self, *names: str, cpu: str = "1", **spec: Any) -> None:
        """Pods for stretto."""
        put(self.site, PODS, *(pod(name, cpu, **spec) for name in names))

    def owned(self, *names: str) -> None:
        """Pods for stretto that a controller would make again."""
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web"}
        for name in names:
            body = pod(name, "1")
            body["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
            put(self.site, PODS, body)

    def remove(self, name: str) -> None:
        """A pod, gone at once."""
        assert self.site.ask("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0").status == 200

    def bound(self) -> dict[str, str]:
        """Nodes of the pods that have one, as etcd holds them."""
        return bound(self.site)

    def why(self, name: str) -> str:
        """What a pod's conditions say."""
        return why(self.site, name)

    # ------------------------------------------------------------ what happens

    def go(self, holds: Callable[[], bool], *more: Plane) -> None:
        """Step until something holds."""
        until = time.monotonic() + LONGEST
        while not holds():
            moved = [plane.step() for plane in (self.plane, *more)]
            if not any(moved):
                time.sleep(0.02)
            assert time.monotonic() < until, (self.bound(), self.far.troubles())

    def go_for(self, seconds: float, *more: Plane) -> None:
        """Step for a while."""
        until = time.monotonic() + seconds
        self.go(lambda: time.monotonic() > until, *more)

    def synced(self) -> None:
        """Step until everything has been listed."""
        self.go(lambda: self.plane.pump.synced)

    def all_bound(self, count: int) -> Callable[[], bool]:
        """Asks whether so many pods have a node."""
        return lambda: len(self.bound()) == count

    # ------------------------------------------------------------ what must hold

    def laws_hold(self, *, books: bool = True) -> None:
        """No law is broken by what etcd holds, nor by the plane's own books of it."""
        records = listed(self.near).records
        assert examine(subject_of(records, NAMES)).broken == ()
        assert self.most_places() <= 1, "a pod was bound twice"
        if books:
            self.go(self.nothing_in_doubt)
            self.go_for(0.3)
            self.go(lambda: self.own_findings() == ())

    def own_findings(self) -> tuple[Finding, ...]:
        """What the plane's own books break of the laws, beside what etcd holds now.

        They are only ever as new as what the plane was told, so whoever asks has to wait.
        """
        records = listed(self.near).records
        audit = self.plane.dispatcher.audit
        return examine(CheckedObjects(self.plane.cluster, records, audit=audit)).broken

    def nothing_in_doubt(self) -> bool:
        return not self.plane.binder.in_doubt

    def most_places(self) -> int:
        """The most nodes that any pod was ever seen on."""
        return self.places.most(self.site)

    def close(self) -> None:
        self.wire.heal()
        self.plane.close()
        self.places.close()


@contextmanager
def ground_on(site: ControlPlane, options: KubeOptions, user: str = ADMIN) -> Iterator[Ground]:
    """A whole plane of a user over a wire that is its own."""
    with ExitStack() as held:
        wire = held.enter_context(FaultyWire(site.port))
        near = held.enter_context(closing(store_of(site, SURE)))
        far = held.enter_context(closing(store_of(site, options, wire.server, user)))
        ground = Ground(site, wire, near, far)
        held.callback(ground.close)
        yield ground


def store_of(
    site: ControlPlane, options: KubeOptions = SURE, server: str = "", user: str = ADMIN
) -> KubeStore:
    """A store of a user, at another address than the server's if given."""
    config = site.kubeconfig_of(user, server)
    return KubeStore(KubeconfigAccess(config), Rng(6 if server else 5), options)
