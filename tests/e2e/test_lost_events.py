"""Missed events: the connection was down and the history expired. A fresh list recovers all.

The pump reads the real server over a wire; cases are numbered as the reports that taught them.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from stretto.api.wire.kinds import NODE, POD
from stretto.base.errors import UnreachableError
from stretto.control.pump import Pump
from stretto.state.cluster.cluster import Cluster
from stretto.stores.kube.store import KubeStore
from stretto.stores.store import Bind, Deletion, WriteOutcome
from stretto_lab.control_plane.cluster import ControlPlane
from stretto_lab.control_plane.faulty_wire import FaultyWire
from tests.e2e.daemon import SPACE, node, pod
from tests.e2e.plane import LONGEST
from tests.e2e.reader import done

pytestmark = pytest.mark.kube


class Site:
    """The cluster state of the pump, and the server."""

    def __init__(
        self, plane: ControlPlane, wire: FaultyWire, near: KubeStore, far: KubeStore
    ) -> None:
        self.plane, self.wire, self.store = plane, wire, near
        self.cluster = Cluster()
        self.pump = Pump(far, self.cluster)

    def node(self, name: str) -> None:
        done(self.store.create(NODE, [node(name)])[0])

    def forget_node(self, name: str) -> None:
        done(self.store.delete(NODE, [Deletion("", name)])[0])

    def bound(self, name: str, to: str) -> str:
        """A pod on a node; its uid."""
        body = pod(name)
        body["metadata"]["namespace"] = SPACE
        made = done(self.store.create(POD, [json.dumps(body).encode()])[0])
        assert self.store.bind([Bind(SPACE, name, made.uid, to)])[0].outcome is WriteOutcome.OK
        return made.uid

    def remove(self, name: str) -> None:
        path = f"/api/v1/namespaces/{SPACE}/pods/{name}?gracePeriodSeconds=0"
        assert self.plane.send("DELETE", path).status == 200

    def unseen(self, happens: Callable[[], None]) -> None:
        """Let something happen while the line is down, and forget the history of it."""
        self.wire.is_down = True
        self.wire.cut()
        happens()
        self.plane.restart("kube-apiserver", kill=True)
        self.wire.heal()

    def known(self) -> dict[str, str]:
        """Uids of the pods that are charged, with their nodes."""
        pods, nodes = self.cluster.pods, self.cluster.nodes
        rows = [row for row in pods.rows().tolist() if pods.slot[row] >= 0]
        return {pods.uid[row]: nodes.names[pods.slot[row]] for row in rows}

    def comes_to_know(self, wanted: dict[str, str]) -> bool:
        """Return whether the pump brings the cluster to this within a while."""
        return self.comes_to(lambda: self.known() == wanted)

    def comes_to(self, holds: Callable[[], bool]) -> bool:
        """Return whether the pump leads to a condition, also after the start of the server."""
        until = time.monotonic() + LONGEST
        while time.monotonic() < until:
            with suppress(UnreachableError):
                self.pump.poll(time.monotonic())
            if holds():
                return True
            time.sleep(0.05)
        return False

    def node_uid(self) -> str:
        """Uid of the node ``n1`` as it is known; empty where it is not."""
        slot = self.cluster.nodes.by_name.get("n1")
        return "" if slot is None else self.cluster.nodes.uids[slot]


@pytest.fixture
def site(plane: ControlPlane, wire: FaultyWire, store: KubeStore, far: KubeStore) -> Iterator[Site]:
    site = Site(plane, wire, store, far)
    site.node("n1")
    yield site
    site.pump.close()


def test_case_8_a_deletion_lost_at_a_restart_frees_the_node(site: Site) -> None:
    uid = site.bound("web", "n1")
    assert site.comes_to_know({uid: "n1"})
    site.unseen(lambda: site.remove("web"))
    assert site.comes_to_know({})


def test_case_9_a_node_whose_deletion_was_lost_is_gone(site: Site) -> None:
    uid = site.bound("web", "n1")
    assert site.comes_to_know({uid: "n1"})
    site.unseen(lambda: site.forget_node("n1"))
    assert site.comes_to_know({})
    assert "n1" not in site.cluster.nodes.by_name


def test_case_10_a_node_that_was_made_again_is_another_one(site: Site) -> None:
    uid = site.bound("web", "n1")
    assert site.comes_to_know({uid: "n1"})
    before = site.node_uid()

    def again() -> None:
        site.forget_node("n1")
        site.node("n1")

    site.unseen(again)
    assert site.comes_to(lambda: site.node_uid() not in ("", before))
    assert site.comes_to_know({uid: "n1"})


def test_case_15_a_namesake_replaces_a_pod_whose_deletion_was_missed(site: Site) -> None:
    old = site.bound("web", "n1")
    site.node("n2")
    assert site.comes_to_know({old: "n1"})
    uids: list[str] = []

    def replaced() -> None:
        site.remove("web")
        uids.append(site.bound("web", "n2"))

    site.unseen(replaced)
    assert site.comes_to_know({uids[0]: "n2"})
