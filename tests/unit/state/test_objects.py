"""The table of objects other than nodes and pods: found by kind and name, followed by a log."""

from typing import Any

from stretto.api import codec
from stretto.api.types.storage import (
    SELECTED_NODE,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeAttachment,
)
from stretto.api.wire import kinds
from stretto.api.wire.meta import LabelSelector
from stretto.api.wire.selectors import label_selector
from stretto.state.ingest.whole_objects import CURES
from stretto.state.objects import LOG_LIMIT, ClusterObjects, identity_of
from tests.support.parity_cluster import thing


def attachment(name: str, node: str) -> Any:
    return thing("VolumeAttachment", name, spec={"nodeName": node, "source": {}})


def test_an_object_is_found_by_kind_and_name_until_it_goes() -> None:
    claim = thing("PersistentVolumeClaim", "data")
    objects = ClusterObjects([claim])
    assert objects.find(identity_of(claim)) is objects.pvcs["default", "data"]
    objects.remove(claim)
    assert (objects.pvcs, objects.of(PersistentVolumeClaim)) == ({}, [])


def test_an_attachment_that_moves_is_removed_from_its_former_node() -> None:
    objects = ClusterObjects([attachment("a", "n1"), attachment("a", "n2")])
    assert [node for node, those in objects.attachments.items() if those] == ["n2"]
    objects.drop((VolumeAttachment.__name__, "", "a"))
    assert not any(objects.attachments.values())


def test_the_log_shows_what_changed_since_a_position() -> None:
    objects = ClusterObjects([thing("Namespace", "blue")])
    before = objects.head
    objects.put(thing("PersistentVolume", "disk"))
    assert objects.changes_since(before) == [(PersistentVolume.__name__, "", "disk")]
    assert objects.changes_since(objects.head) == []


def test_a_reader_that_is_too_far_behind_gets_no_changes() -> None:
    objects = ClusterObjects()
    blue = thing("Namespace", "blue")
    for _ in range(LOG_LIMIT + 1):
        objects.put(blue)
    assert objects.changes_since(0) is None
    assert objects.head == objects.version == LOG_LIMIT + 1


def test_an_assumed_claim_has_its_node_and_an_assumed_volume_its_claim() -> None:
    objects = ClusterObjects(
        [thing("PersistentVolumeClaim", "data"), thing("PersistentVolume", "disk")]
    )
    claim = objects.pvcs["default", "data"]
    objects.take(objects.volumes["disk"], claim)
    objects.select_node(claim, "n1")
    reference = objects.volumes["disk"].spec.claim_ref
    assert reference is not None
    assert reference.name == "data"
    assert objects.pvcs["default", "data"].metadata.annotations == {SELECTED_NODE: "n1"}


def test_namespaces_are_selected_by_the_labels_they_have_now() -> None:
    selector = label_selector(LabelSelector(match_labels={"team": "a"}), "selector")
    objects = ClusterObjects([thing("Namespace", "blue", meta={"labels": {"team": "a"}})])
    assert objects.namespaces_with(selector) == {"blue"}
    objects.put(thing("Namespace", "blue"))
    assert objects.namespaces_with(selector) == frozenset()


def test_every_kind_that_a_pump_may_read_has_a_place() -> None:
    items = [
        codec.decode(kind, b'{"metadata":{"name":"x"}}')
        for kind in CURES
        if kind is not kinds.VOLUME_ATTACHMENT
    ]
    assert len(ClusterObjects(items)._known) == len(items)
