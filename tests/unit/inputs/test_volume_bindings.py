"""PVCs that do not wait for a pod: the volume that they get."""

import json
from pathlib import Path
from typing import Any

import pytest

from stretto.api.wire.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM
from stretto.inputs.objects import volume_bindings
from stretto.inputs.objects.admission import InputContext
from stretto.inputs.objects.manifests import load_objects

Body = dict[str, Any]


def volume(name: str, size: str = "10Gi", labels: Body | None = None, **spec: Any) -> Body:
    meta = {"name": name, "labels": labels or {}}
    own = {"storageClassName": "manual", "accessModes": ["ReadWriteOnce"], **spec}
    body = {"capacity": {"storage": size}, "hostPath": {"path": "/mnt"}, **own}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": body}


def pvc(name: str = "data", **spec: Any) -> Body:
    size = {"requests": {"storage": "3Gi"}}
    own = {"storageClassName": "manual", "accessModes": ["ReadWriteOnce"], "resources": size}
    meta = {"name": name, "namespace": "default"}
    head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta}
    return {**head, "spec": {**own, **spec}}


def storage_class(name: str, **more: Any) -> Body:
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    return {**head, "provisioner": "disk.example.com", **more}


def bound(folder: Path, *bodies: Body, context: InputContext | None = None) -> dict[str, str]:
    """The volume of each PVC that has one; both sides agree."""
    file = folder / "all.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies}))
    found = load_objects([file], context=context or InputContext())
    pairs = [(each.kind, json.loads(each.body)) for each in found]
    taken = {
        b["spec"]["claimRef"]["name"]: b["metadata"]["name"]
        for kind, b in pairs
        if kind == PERSISTENT_VOLUME and b["status"]["phase"] == "Bound"
    }
    volumes = {
        b["metadata"]["name"]: b["spec"]["volumeName"]
        for kind, b in pairs
        if kind == PERSISTENT_VOLUME_CLAIM and b["status"]["phase"] == "Bound"
    }
    assert volumes == taken
    return volumes


def test_a_pvc_gets_the_smallest_volume_that_suits_it(tmp_path: Path) -> None:
    volumes = [volume("large", "20Gi"), volume("right", "5Gi"), volume("small", "1Gi")]
    assert bound(tmp_path, *volumes, pvc()) == {"data": "right"}


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"size": "1Gi"}, {}),
        ({"storageClassName": "other"}, {}),
        ({"accessModes": ["ReadOnlyMany"]}, {}),
        ({"volumeMode": "Block"}, {}),
        ({}, {"selector": {"matchLabels": {"disk": "ssd"}}}),
        ({"claimRef": {"namespace": "default", "name": "another"}}, {}),
        ({}, {"volumeName": "another"}),
    ],
)
def test_a_volume_that_does_not_suit_stays_free(tmp_path: Path, theirs: Body, ours: Body) -> None:
    assert bound(tmp_path, volume("one", **theirs), pvc(**ours)) == {}


def test_two_pvcs_do_not_share_a_volume(tmp_path: Path) -> None:
    assert bound(tmp_path, volume("one"), pvc("a"), pvc("b")) == {"a": "one"}


@pytest.mark.parametrize("mode", ["Immediate", "WaitForFirstConsumer"])
def test_a_volume_that_names_a_pvc_is_bound_to_it(tmp_path: Path, mode: str) -> None:
    reserved = volume("mine", "90Gi", claimRef={"namespace": "default", "name": "data"})
    manual = storage_class("manual", volumeBindingMode=mode)
    assert bound(tmp_path, manual, volume("free", "5Gi"), reserved, pvc()) == {"data": "mine"}


def test_a_class_provisions_a_volume_within_its_topologies(tmp_path: Path) -> None:
    rules = [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]
    fast = storage_class("fast", allowedTopologies=rules)
    (made,) = bound(tmp_path, fast, pvc(storageClassName="fast")).values()
    found = {each.name: each.body for each in load_objects([tmp_path / "all.json"])}
    (term,) = json.loads(found[made])["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "zone", "operator": "In", "values": ["a"]}]


@pytest.mark.parametrize(
    "settings",
    [
        {"volumeBindingMode": "WaitForFirstConsumer"},
        {"provisioner": "kubernetes.io/no-provisioner"},
    ],
)
def test_a_class_that_waits_or_has_no_driver_provisions_nothing(
    tmp_path: Path, settings: Body
) -> None:
    assert bound(tmp_path, storage_class("manual", **settings), pvc()) == {}


def test_the_claims_of_a_dump_stay_as_they_are(tmp_path: Path) -> None:
    waiting = pvc()
    waiting["metadata"]["uid"] = "7d0c"
    assert bound(tmp_path, volume("one"), waiting) == {}


def test_the_volumes_of_a_state_are_used_and_its_claims_are_kept(tmp_path: Path) -> None:
    free = {**volume("one"), "status": {"phase": "Available"}}
    pairs = [(PERSISTENT_VOLUME, free), (PERSISTENT_VOLUME_CLAIM, pvc("old"))]
    context = InputContext([(kind, json.dumps(body).encode()) for kind, body in pairs])
    assert bound(tmp_path, pvc("old"), pvc("new"), context=context) == {"new": "one"}


def test_each_of_many_pvcs_gets_the_smallest_volume_that_is_left(tmp_path: Path) -> None:
    sizes = [7, 3, 9, 5, 3, 1, 8]
    volumes = [volume(f"v{n}-{size}", f"{size}Gi") for n, size in enumerate(sizes)]
    reserved = volume("kept", "3Gi", claimRef={"namespace": "default", "name": "p3"})
    found = bound(tmp_path, *volumes, reserved, *(pvc(f"p{n}") for n in range(7)))
    assert [found.get(f"p{n}") for n in range(7)] == [
        "v1-3", "v4-3", "v3-5", "kept", "v0-7", "v6-8", "v2-9",
    ]  # fmt: skip


def test_a_pvc_does_not_read_every_volume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []
    suits = volume_bindings._suits
    monkeypatch.setattr(
        volume_bindings, "_suits", lambda *pair: (looked.append(pair), suits(*pair))[1]
    )
    volumes = [volume(f"v{n}") for n in range(100)]
    assert len(bound(tmp_path, *volumes, *(pvc(f"p{n}") for n in range(100)))) == 100
    assert len(looked) == 100
