"""Volumes on the exact path: restrictions, limits, zones and binding."""

from typing import Any

import msgspec
import pytest

from stretto.framework.model.status import SKIP, SUCCESS, StatusCode
from stretto.framework.plugins.volumes import (
    NodeVolumeLimitsRule,
    VolumeBindingRule,
    VolumeRestrictionsRule,
    VolumeZoneRule,
)
from stretto.framework.volume_binder import volumes
from stretto.framework.volume_binder.pvcs import WAIT
from tests.support.parity_cluster import (
    HOST,
    ZONE,
    before,
    cluster,
    node,
    pod,
    refused,
    said,
    thing,
)

RESTRICTIONS, LIMITS = VolumeRestrictionsRule.NAME, NodeVolumeLimitsRule.NAME
BINDING, ZONES = VolumeBindingRule.NAME, VolumeZoneRule.NAME
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
DRIVER = "csi.example.com"
NODES = [node("a", "z1"), node("b", "z2")]


def using(*names: str, **more: Any) -> Any:
    claims = [{"name": n, "persistentVolumeClaim": {"claimName": n}} for n in names]
    return pod(volumes=claims, **more)


def claim(name: str, volume: str = "", size: str = "1Gi", **more: Any) -> Any:
    modes = more.pop("modes", ["ReadWriteOnce"])
    spec = {"accessModes": modes, "resources": {"requests": {"storage": size}}}
    spec |= {"storageClassName": more.pop("of", "fast")} | (
        {"volumeName": volume} if volume else {}
    )
    meta = {"annotations": BOUND if volume else {}, "uid": f"uid-{name}", **more.pop("meta", {})}
    return thing("pvc", name, meta=meta, spec=spec, **more)


def volume(name: str, size: str = "1Gi", on: str = "", **more: Any) -> Any:
    spec = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"]}
    spec |= {"storageClassName": "fast", "csi": {"driver": DRIVER, "volumeHandle": name}}
    if on:
        rule = {"key": HOST, "operator": "In", "values": [on]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}
    return thing(
        "pv", name, meta=more.pop("meta", {}), spec={**spec, **more}, status={"phase": "Available"}
    )


def with_spec(thing: Any, **fields: Any) -> Any:
    """The same with other fields in its spec."""
    return msgspec.structs.replace(thing, spec=msgspec.structs.replace(thing.spec, **fields))


def storage_class(mode: str = WAIT, provisioner: str = DRIVER, **more: Any) -> Any:
    return thing("sc", "fast", provisioner=provisioner, volumeBindingMode=mode, **more)


# ---------------------------------------------------------------- restrictions


@pytest.mark.parametrize(
    ("mine", "theirs", "taken"),
    [
        ({"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "d"}}, True),
        (
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            False,
        ),
        (
            {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}},
            {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}},
            True,
        ),
        ({"iscsi": {"iqn": "d", "lun": 1}}, {"iscsi": {"iqn": "d", "lun": 2}}, True),
        (
            {"rbd": {"monitors": ["m", "n"], "image": "i"}},
            {"rbd": {"monitors": ["n"], "image": "i"}},
            True,
        ),
        (
            {"rbd": {"monitors": ["m"], "image": "i"}},
            {"rbd": {"monitors": ["n"], "image": "i"}},
            False,
        ),
    ],
)
def test_disks_named_in_pods(mine: dict[str, Any], theirs: dict[str, Any], taken: bool) -> None:
    there = pod("e", "a", volumes=[{"name": "v", **theirs}])
    found = refused(RESTRICTIONS, pod(volumes=[{"name": "v", **mine}]), *NODES, there)
    assert found == (["a"] if taken else [])


def test_a_claim_for_one_pod_in_use_refuses_every_node() -> None:
    alone = claim("c", "v", modes=["ReadWriteOncePod"])
    there = using("c", name="e", on="a")
    assert refused(RESTRICTIONS, using("c"), *NODES, alone, there) == ["a", "b"]
    assert before(RESTRICTIONS, using("c"), *NODES, alone) == SKIP


def test_a_missing_claim_ends_the_cycle() -> None:
    found = before(RESTRICTIONS, using("c"), *NODES)
    assert found == (StatusCode.UNRESOLVABLE, ('persistentvolumeclaim "c" not found',))


def test_a_rehearsal_counts_leaving_claims_by_name_alone() -> None:
    alone = claim("c", "v", modes=["ReadWriteOncePod"])
    there = [using("c", name="e", on="a"), using("c", name="f", on="b", namespace="elsewhere")]
    scheduler = cluster(*NODES, alone, *there)
    filtered = scheduler.decide(using("c"), thorough=True).filtered
    assert filtered is not None
    trial = filtered.checks[RESTRICTIONS].trial(1)
    trial.remove(scheduler.snapshot.pods_on[1][0])
    assert trial.status() == SUCCESS


# ---------------------------------------------------------------- limits


def csi_node(limit: int) -> Any:
    driver = {"name": DRIVER, "nodeID": "a", "allocatable": {"count": limit}}
    return thing("CSINode", "a", spec={"drivers": [driver]})


def attachment(volume_name: str) -> Any:
    return thing(
        "VolumeAttachment",
        f"at-{volume_name}",
        spec={"attacher": DRIVER, "nodeName": "a", "source": {"persistentVolumeName": volume_name}},
    )


def test_a_full_node_is_refused_and_a_volume_that_is_there_costs_nothing() -> None:
    things = [claim("c", "v"), claim("d", "w"), volume("v"), volume("w"), csi_node(1)]
    there = using("c", name="e", on="a")
    assert refused(LIMITS, using("d"), *NODES, *things, there) == ["a"]
    assert refused(LIMITS, using("c"), *NODES, *things, there) == []


def test_attachments_count_once_together_with_the_pods_volumes() -> None:
    things = [claim("c", "v"), claim("d", "w"), volume("v"), volume("w"), volume("x")]
    there = using("c", name="e", on="a")
    both = [attachment("v"), attachment("x")]
    assert refused(LIMITS, using("d"), *NODES, *things, there, *both, csi_node(2)) == ["a"]
    assert refused(LIMITS, using("d"), *NODES, *things, there, *both, csi_node(3)) == []


def test_a_claim_without_a_volume_counts_by_its_class() -> None:
    things = [claim("c"), storage_class(), csi_node(0)]
    assert refused(LIMITS, using("c"), *NODES, *things) == ["a"]
    assert refused(LIMITS, using("c"), *NODES, claim("c"), csi_node(0)) == []


def test_limits_report_a_missing_claim_as_checked() -> None:
    found = said(LIMITS, using("c"), *NODES)["a"]
    reason = 'looking up PVC default/c: persistentvolumeclaim "c" not found'
    assert found == (StatusCode.UNRESOLVABLE, (reason,))


def test_a_claim_of_another_pod_is_an_error() -> None:
    requested = pod(meta={"uid": "u"}, volumes=[{"name": "v", "ephemeral": {}}])
    found = said(LIMITS, requested, *NODES, claim("p-v"))["a"]
    assert found.code is StatusCode.ERROR
    assert found.message.endswith("was not created for pod default/p (pod is not owner)")


def test_limits_count_disks_of_the_two_clouds_and_skip_other_inline_volumes() -> None:
    gce = {"name": "v", "gcePersistentDisk": {"pdName": "d"}}
    assert before(LIMITS, pod(volumes=[gce]), *NODES) is None
    assert before(LIMITS, pod(volumes=[{"name": "v", "emptyDir": {}}]), *NODES) == SKIP


@pytest.mark.parametrize(
    ("disk", "driver"),
    [
        ({"gcePersistentDisk": {"pdName": "d"}}, "pd.csi.storage.gke.io"),
        ({"awsElasticBlockStore": {"volumeID": "d"}}, "ebs.csi.aws.com"),
    ],
)
def test_disks_of_the_two_clouds_count_as_their_drivers(disk: dict[str, Any], driver: str) -> None:
    stated = {"name": driver, "nodeID": "a", "allocatable": {"count": 0}}
    limit = thing("CSINode", "a", spec={"drivers": [stated]})
    assert refused(LIMITS, pod(volumes=[{"name": "v", **disk}]), *NODES, limit) == ["a"]


@pytest.mark.parametrize("written", ["aws://zone/vol-1", "aws:///vol-1", "vol-1"])
def test_a_disk_that_is_written_with_its_zone_is_the_same_disk(written: str) -> None:
    stated = {"name": "ebs.csi.aws.com", "nodeID": "a", "allocatable": {"count": 1}}
    limit = thing("CSINode", "a", spec={"drivers": [stated]})

    def naming(disk: str, **more: Any) -> Any:
        return pod(volumes=[{"name": "v", "awsElasticBlockStore": {"volumeID": disk}}], **more)

    there = naming("vol-1", name="e", on="a")
    assert refused(LIMITS, naming(written), *NODES, limit, there) == []
    assert refused(LIMITS, naming("aws://zone/vol-2"), *NODES, limit, there) == ["a"]


# ---------------------------------------------------------------- zones


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({ZONE: "z1"}, ["b"]),
        ({ZONE: "z1__z2"}, []),
        ({"failure-domain.beta.kubernetes.io/zone": "z2"}, ["a"]),
        ({"topology.kubernetes.io/region": "r"}, ["a", "b"]),
        ({ZONE: "z1__"}, []),
    ],
)
def test_zones_of_a_bound_volume(labels: dict[str, str], expected: list[str]) -> None:
    things = [claim("c", "v"), volume("v", meta={"labels": labels})]
    # A node without any zone or region passes.
    assert refused(ZONES, using("c"), *NODES, node("bare"), *things) == expected


@pytest.mark.parametrize(
    ("things", "reason"),
    [
        ([claim("c", "v")], 'persistentvolume "v" not found'),
        ([claim("c", of="")], "PersistentVolumeClaim had no pv name and storageClass name"),
        ([claim("c")], 'storageclass.storage.k8s.io "fast" not found'),
        ([claim("c"), storage_class("Immediate")], "PersistentVolume had no name"),
    ],
)
def test_zones_end_the_cycle(things: list[Any], reason: str) -> None:
    assert before(ZONES, using("c"), *NODES, *things) == (StatusCode.UNRESOLVABLE, (reason,))


# ---------------------------------------------------------------- binding


@pytest.mark.parametrize(
    ("things", "reason"),
    [
        ([], 'persistentvolumeclaim "c" not found'),
        (
            [claim("c", "v", status={"phase": "Lost"})],
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
        ),
        (
            [claim("c", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            'persistentvolumeclaim "c" is being deleted',
        ),
        (
            [claim("c"), storage_class("Immediate")],
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        ([claim("c")], "pod has unbound immediate PersistentVolumeClaims"),
    ],
)
def test_claims_that_end_the_cycle(things: list[Any], reason: str) -> None:
    assert before(BINDING, using("c"), *NODES, *things) == (StatusCode.UNRESOLVABLE, (reason,))


def test_a_claim_to_be_made_for_the_pod_is_waited_for() -> None:
    found = before(BINDING, pod(volumes=[{"name": "v", "ephemeral": {}}]), *NODES)
    assert found is not None
    assert found.message.startswith("waiting for ephemeral volume controller to create")


def test_a_bound_volume_must_be_reached_and_be_there() -> None:
    requested = using("c")
    reached = said(BINDING, requested, *NODES, claim("c", "v"), volume("v", on="a"))
    gone = said(BINDING, requested, *NODES, claim("c", "v"))
    assert {name: each.message for name, each in reached.items()} == {"b": volumes.NODE_CONFLICT}
    assert gone["a"].message == volumes.NO_VOLUME


def test_volumes_that_exist_are_matched_smallest_claim_and_smallest_volume_first() -> None:
    local = storage_class(provisioner=volumes.NO_PROVISIONER)
    things = [
        local,
        claim("big", size="5Gi"),
        claim("small"),
        volume("v1", "2Gi", on="a"),
        volume("v2", "6Gi", on="a"),
        volume("v3", "6Gi", on="b"),
    ]
    scheduler = cluster(*NODES, *things)
    decision = scheduler.decide(using("big", "small"))
    assert decision.feasible_names == ["a"]
    scheduler.assume(decision, "a")
    taken = {n: v.spec.claim_ref for n, v in scheduler.snapshot.objects.volumes.items()}
    assert {n: ref.name for n, ref in taken.items() if ref} == {"v1": "small", "v2": "big"}


@pytest.mark.parametrize(
    ("requested", "has", "fits"),
    [
        ("gold", "gold", True),
        ("gold", "silver", False),
        ("gold", None, False),
        (None, "gold", False),
        ("", None, True),
        (None, "", True),
    ],
)
@pytest.mark.parametrize("kept", [False, True])
def test_a_volume_must_have_the_attributes_class_of_its_claim(
    requested: str | None, has: str | None, fits: bool, kept: bool
) -> None:
    wanting = claim("c")
    if requested is not None:
        wanting = with_spec(wanting, volume_attributes_class_name=requested)
    more: dict[str, Any] = {} if has is None else {"volumeAttributesClassName": has}
    if kept:
        more["claimRef"] = {"name": "c", "namespace": "default", "uid": "uid-c"}
    things = [wanting, volume("v", **more), storage_class(provisioner=volumes.NO_PROVISIONER)]
    assert refused(BINDING, using("c"), *NODES, *things) == ([] if fits else ["a", "b"])


def test_a_volume_kept_for_a_claim_is_the_only_one_read() -> None:
    kept = volume("v1", on="b", claimRef={"namespace": "default", "name": "c"})
    local = storage_class(provisioner=volumes.NO_PROVISIONER)
    things = [local, claim("c"), kept, volume("v2", on="a")]
    assert refused(BINDING, using("c"), *NODES, *things) == ["a"]


def test_a_volume_can_be_made_where_the_class_allows() -> None:
    rule = {"matchLabelExpressions": [{"key": ZONE, "values": ["z2"]}]}
    things = [claim("c"), storage_class(allowedTopologies=[rule])]
    assert said(BINDING, using("c"), *NODES, *things)["a"].message == volumes.BIND_CONFLICT
    assert refused(BINDING, using("c"), *NODES, *things) == ["a"]


def capacity(size: str, **more: Any) -> Any:
    place = {"matchLabels": {ZONE: "z1"}}
    return thing(
        "CSIStorageCapacity",
        f"at-{size}",
        storageClassName="fast",
        capacity=size,
        **{"nodeTopology": place, **more},
    )


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (capacity("2Gi"), ["b"]),
        (capacity("1Mi"), ["a", "b"]),
        (capacity("2Gi", maximumVolumeSize="1Mi"), ["a", "b"]),
        (capacity("2Gi", nodeTopology=None), ["a", "b"]),
    ],
)
def test_a_driver_that_reports_its_capacity_needs_enough(
    reported: Any, expected: list[str]
) -> None:
    driver = thing("CSIDriver", DRIVER, spec={"storageCapacity": True})
    found = said(BINDING, using("c"), *NODES, claim("c"), storage_class(), driver, reported)
    assert sorted(found) == expected
    assert {each.message for each in found.values()} == {volumes.NO_SPACE}


def test_a_claim_with_its_node_selected_goes_nowhere_else() -> None:
    chosen = {"annotations": {"volume.kubernetes.io/selected-node": "b"}}
    things = [claim("c", meta=chosen), storage_class()]
    assert refused(BINDING, using("c"), *NODES, *things) == ["a"]


def test_a_claim_to_be_made_keeps_its_node_for_the_next_pod() -> None:
    scheduler = cluster(*NODES, claim("c"), storage_class())
    scheduler.assume(scheduler.decide(using("c")), "b")
    assert scheduler.decide(using("c", name="q")).feasible_names == ["b"]


def test_volume_binding_is_skipped_without_claims() -> None:
    assert before(BINDING, pod(), *NODES) == SKIP
