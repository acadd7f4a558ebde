"""Objects, nodes and pods that are kept whole, and the units that a change of one may cure."""

import pytest

from stretto.api.wire import kinds
from stretto.api.wire.kinds import POD
from stretto.control.pump import Pump
from stretto.state.cluster.cluster import Cluster
from stretto.state.cluster.config import ClusterConfig
from stretto.state.ingest.whole_objects import CURES
from stretto.state.work.units import Cure
from stretto.stores.store import Bind, Deletion, Patch
from stretto.testing import Harness, make_node, make_pod


class Desk(Harness):
    """A store and a pump that keeps everything whole; nothing is scheduled."""

    def __init__(self) -> None:
        super().__init__([make_node("n1"), make_node("n2")])
        self.cluster = Cluster(ClusterConfig(whole=True))
        self.pump = Pump(self.store, self.cluster, kinds=CURES)
        self.read()

    def read(self) -> Cure:
        """Apply new events; returns the cures."""
        self.cluster.changes.clear()
        self.pump.poll(0.0)
        return self.cluster.changes.cures

    def run(self, name: str = "p", **more: object) -> None:
        """A pod that runs on n1."""
        self.submit(make_pod(name, node="n1", **more))  # type: ignore[arg-type]
        self.read()

    def relabel(self, name: str, **labels: str) -> None:
        """Other labels for a pod."""
        self.store.patch(POD, [Patch("default", name, {"metadata": {"labels": labels}})])


@pytest.fixture
def desk() -> Desk:
    return Desk()


SMALL = '{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}'


def claim(body: str = SMALL) -> bytes:
    meta = '{"name":"data","namespace":"default"}'
    kind = '"apiVersion":"v1","kind":"PersistentVolumeClaim"'
    return f'{{{kind},"metadata":{meta},"spec":{body}}}'.encode()


def test_a_pod_keeps_its_last_record_until_it_goes(desk: Desk) -> None:
    desk.run()
    (record,) = desk.cluster.records.values()
    assert (record.name, record.node) == ("p", "n1")
    desk.delete("p")
    desk.read()
    assert desk.cluster.records == {}


def test_a_pod_of_another_scheduler_without_a_node_is_not_kept(desk: Desk) -> None:
    desk.submit(make_pod("p", scheduler="other"))
    desk.read()
    assert desk.cluster.records == {}


def test_new_labels_of_a_running_pod_touch_its_node_and_may_cure(desk: Desk) -> None:
    desk.run()
    before = desk.cluster.ledger.head
    desk.relabel("p", color="red")
    assert desk.read() & Cure.POD_LABELS
    assert desk.cluster.ledger.head > before


def test_a_bind_seen_again_changes_no_node(desk: Desk) -> None:
    desk.submit(make_pod("p"))
    desk.read()
    (record,) = desk.cluster.records.values()
    desk.store.bind([Bind("default", "p", record.uid, "n1")])
    assert desk.read() & Cure.POD_PLACED
    assert not desk.read()


def test_a_node_is_kept_in_full_and_its_heartbeat_changes_nothing(desk: Desk) -> None:
    before = desk.cluster.objects.version
    beat = {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "now"}]}
    desk.store.patch_status(kinds.NODE, [Patch("", "n1", {"status": beat})])
    desk.read()
    assert desk.cluster.objects.version == before
    assert sorted(desk.cluster.objects.nodes) == ["n1", "n2"]


def test_a_claim_comes_changes_and_goes_and_each_may_cure(desk: Desk) -> None:
    desk.create(kinds.PERSISTENT_VOLUME_CLAIM, claim())
    assert desk.read() == Cure.VOLUME_CHANGED
    assert desk.cluster.objects.pvcs["default", "data"].metadata.uid
    desk.store.delete(kinds.PERSISTENT_VOLUME_CLAIM, [deletion("data")])
    assert desk.read() == Cure.VOLUME_CHANGED
    assert desk.cluster.objects.pvcs == {}


def test_a_claim_that_cannot_be_read_is_absent_and_noted_alone(desk: Desk) -> None:
    desk.put(kinds.PERSISTENT_VOLUME_CLAIM, claim('{"accessModes":7}'))
    desk.read()
    assert desk.cluster.objects.pvcs == {}
    assert "persistentvolumeclaim default/data" in desk.cluster.abnormal


def test_an_event_that_is_older_than_the_own_write_is_ignored(desk: Desk) -> None:
    desk.create(kinds.PERSISTENT_VOLUME_CLAIM, claim())
    desk.read()
    known = desk.cluster.objects.pvcs["default", "data"]
    desk.cluster.objects.select_node(known, "n1")
    assert not desk.read()
    assert desk.cluster.objects.pvcs["default", "data"].metadata.annotations


def test_a_comparison_with_the_store_finds_the_change_of_a_lost_event(desk: Desk) -> None:
    desk.create(kinds.PERSISTENT_VOLUME_CLAIM, claim())
    desk.read()
    desk.cluster.objects.drop(
        (type(desk.cluster.objects.pvcs["default", "data"]), "default", "data")
    )
    again = Pump(desk.store, desk.cluster, kinds=CURES)
    again.poll(0.0)
    assert ("default", "data") in desk.cluster.objects.pvcs


def deletion(name: str) -> Deletion:
    return Deletion("default", name)
