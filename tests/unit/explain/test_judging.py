"""One reason per pod from every source: metrics, explanations and stories, in every profile."""

from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, STORAGE_CLASS, Kind
from stretto.explain.metrics.gauges import WatchedPlane
from stretto.explain.metrics.metrics import Metrics
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.explain.words.reasons import ReasonCode
from stretto.testing import Harness, make_node, make_pod

PROFILES = ["default", "kube-parity"]
HOST = "kubernetes.io/hostname"


def anti(app: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOST}
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"affinity": {"podAntiAffinity": rule}}


def claiming(name: str) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]}


def put(harness: Harness, kind: Kind, name: str, **fields: Any) -> None:
    meta = {"name": name, **({"namespace": "default"} if kind.namespaced else {})}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **fields}
    harness.create(kind, msgspec.json.encode(body))


def crowded(profile: str) -> Harness:
    """A cluster in which each pod waits for a reason of its own."""
    harness = Harness(
        [make_node(f"n{i}", cpu="4") for i in range(2)], profile=profile, config={"tier": "numpy"}
    )
    put(
        harness,
        STORAGE_CLASS,
        "local",
        provisioner="kubernetes.io/no-provisioner",
        volumeBindingMode="WaitForFirstConsumer",
    )
    requested = {"requests": {"storage": "5Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local", "resources": requested}
    put(harness, PERSISTENT_VOLUME_CLAIM, "waits", spec=spec)
    harness.submit(*(make_pod(f"r{i}", labels={"app": "a"}, spec=anti("a")) for i in range(2)))
    harness.settle()
    harness.submit(
        make_pod("missing", spec=claiming("absent")),
        make_pod("novolume", spec=claiming("waits")),
        make_pod("apart", labels={"app": "a"}, spec=anti("a")),
        make_pod("big", cpu="64"),
        make_pod("full", cpu="3950m"),
        make_pod("odd", spec={"nodeSelector": {"a": "b"}}),
        make_pod("claims", spec={"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}),
    )
    harness.settle(2)
    return harness


WHY = {
    "missing": ReasonCode.VOLUME_CLAIMS,
    "novolume": ReasonCode.VOLUMES,
    "apart": ReasonCode.OTHER_PODS,
    "big": ReasonCode.TOO_BIG,
    "full": ReasonCode.NO_CAPACITY,
    "odd": ReasonCode.NOT_ALLOWED,
    "claims": ReasonCode.DYNAMIC_CLAIMS,
}


def metrics_of(harness: Harness) -> dict[str, dict[tuple[str, ...], float]]:
    plane = harness.plane
    watched = WatchedPlane(plane.engine, plane.units, plane.dispatcher.views, plane.verdicts)
    return {each.name: dict(each.values) for each in Metrics(watched, harness.clock).families()}


@pytest.mark.parametrize("profile", PROFILES)
def test_metrics_and_explanations_agree_pod_by_pod(profile: str) -> None:
    harness = crowded(profile)
    plane = harness.plane
    scene = live_scene(plane.cluster, plane.config.profile, plane.units)
    said = {name: explain_pod(scene, name).dominant for name in WHY}
    assert {name: why and why.code for name, why in said.items()} == WHY
    waiting = metrics_of(harness)["stretto_waiting_pods"]
    assert {code: n for (code, _), n in waiting.items()} == {c.value: 1.0 for c in WHY.values()}


@pytest.mark.parametrize("profile", PROFILES)
def test_unschedulable_pods_are_counted_by_plugin(profile: str) -> None:
    found = metrics_of(crowded(profile))["scheduler_unschedulable_pods"]
    counts = {plugin: n for (plugin, _), n in found.items()}
    assert counts["VolumeRestrictions"] == counts["VolumeBinding"] == 1.0  # missing, not found
    assert counts["DynamicResources"] == counts["NodeAffinity"] == counts["InterPodAffinity"] == 1.0


def test_a_missing_claim_is_named_in_the_sentence() -> None:
    plane = crowded("default").plane
    said = explain_pod(live_scene(plane.cluster, plane.config.profile, plane.units), "missing")
    assert said.dominant is not None
    assert 'persistentvolumeclaim "absent" not found' in said.dominant.sentence
    assert said.nodes is not None
    assert 'persistentvolumeclaim "absent" not found' in said.nodes.message


def test_a_bound_pod_is_not_held_up_by_its_own_claim() -> None:
    harness = crowded("default")
    volume = {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "hostPath": {"path": "/mnt/disk"},
    }
    put(harness, PERSISTENT_VOLUME, "disk", spec=volume, status={"phase": "Available"})
    harness.settle(30)
    plane = harness.plane
    said = explain_pod(live_scene(plane.cluster, plane.config.profile, plane.units), "novolume")
    assert (said.state, bool(harness.node_of("novolume"))) == ("bound", True)
    assert said.choice is not None
    assert said.choice.feasible == 2
