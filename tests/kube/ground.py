"""A whole plane in this process over a real API server, behind a wire that may be bad."""

import json
import time
from collections.abc import Callable
from typing import Any

from stretto.api.kinds import POD
from stretto.base.clock import Clock, WallClock
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.daemons.scheduler import plane_config
from stretto.daemons.steady import SteadyStore, StoppedError
from stretto.explain.doctor import Subject, examine, subject_of
from stretto.framework.profile import load_profile
from stretto.lab.kube.control_plane import ControlPlane
from stretto.lab.kube.wire import Wire
from stretto.plane import Plane
from stretto.sim.clusters import listed
from stretto.stores.kube.store import KubeStore
from stretto.stores.store import EventType, Store
from tests.kube.daemon import SPACE, bound, node, pod, pods_of, put

PODS = f"/api/v1/namespaces/{SPACE}/pods"
NAMES = frozenset({"stretto"})
LONGEST = 40.0
"""Seconds that anything may take here: a bound of the test, not of the product."""


class Ground:
    """A plane that schedules over the wire, and a good line beside it to see what is true."""

    def __init__(self, site: ControlPlane, wire: Wire, near: KubeStore, far: KubeStore) -> None:
        self.site, self.wire, self.near, self.far = site, wire, near, far
        self.failpoint: Failpoint = no_failpoint
        self.plane = self.new_plane()
        self.watch = near.watch(POD, near.list(POD).version)
        self._places: dict[str, set[str]] = {}

    def new_plane(self, store: Store | None = None, clock: Clock | None = None) -> Plane:
        """One more plane, over the wire unless another store is given."""
        config = plane_config(load_profile("default"), (), 1, "numpy", report=True)
        clock = clock or WallClock()
        until = time.monotonic() + 4 * LONGEST

        def check() -> None:
            if time.monotonic() > until:
                raise StoppedError

        steady = SteadyStore(store or self.far, clock, check, lambda *_: None)
        return Plane(config, steady, clock, self._visit)

    def _visit(self, name: str) -> None:
        self.failpoint(name)  # which may be another one by now

    # ------------------------------------------------------------ what is there

    def nodes(self, *names: str, cpu: str = "8") -> None:
        """Nodes that are ready by themselves."""
        for name in names:
            put(self.site, "/api/v1/nodes", node(name, cpu))
            self.site.ask("PATCH", f"/api/v1/nodes/{name}", b'{"spec": {"taints": null}}')

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
        found = next(each for each in pods_of(self.site) if each["metadata"]["name"] == name)
        return " ".join(c.get("message", "") for c in found["status"].get("conditions", []))

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
            own = Subject(self.plane.cluster, records, audit=self.plane.dispatcher.audit)
            assert examine(own).broken == ()

    def nothing_in_doubt(self) -> bool:
        return not self.plane.binder.in_doubt

    def most_places(self) -> int:
        """The most nodes that any pod was ever seen on."""
        while events := self.watch.poll():
            for event in events:
                if event.type is not EventType.DELETED and event.record.node:
                    self._places.setdefault(event.record.uid, set()).add(event.record.node)
        return max((len(each) for each in self._places.values()), default=0)

    def close(self) -> None:
        self.wire.heal()
        self.plane.close()
        self.watch.close()


def group(name: str, least: int) -> dict[str, Any]:
    """A PodGroup."""
    named = {"apiVersion": "scheduling.godel.kubewharf.io/v1alpha1", "kind": "PodGroup"}
    return {**named, "metadata": {"name": name}, "spec": {"minMember": least}}


GROUPS = f"/apis/scheduling.godel.kubewharf.io/v1alpha1/namespaces/{SPACE}/podgroups"


def member(name: str, of: str, cpu: str = "1") -> dict[str, Any]:
    """A pod of a group."""
    body = pod(name, cpu)
    body["metadata"]["annotations"] = {"godel.bytedance.com/pod-group-name": of}
    body["metadata"]["labels"]["godel.bytedance.com/pod-group-name"] = of
    return body


def item(site: ControlPlane, path: str) -> dict[str, Any]:
    """An object as etcd holds it."""
    said = site.ask("GET", path)
    assert said.status == 200, said.body
    found: dict[str, Any] = json.loads(said.body)
    return found
