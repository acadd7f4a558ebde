"""Volumes with the real volume controller: kept ones, and ones that a provisioner makes."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from stretto.api.wire.kinds import PERSISTENT_VOLUME_CLAIM as CLAIM
from stretto.api.wire.kinds import POD
from stretto.stores.store import Watch
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from tests.e2e.daemon import Daemon, item, put, until
from tests.e2e.plane import store_of
from tests.e2e.site import Yard

pytestmark = pytest.mark.kube

PROVISIONER = "disks.example.com"
SELECTED = "volume.kubernetes.io/selected-node"
TIMEOUT = 5
"""Seconds that a pod waits for its volumes."""
PROFILE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: stretto
    pluginConfig:
      - {name: VolumeBinding, args: {bindTimeoutSeconds: %d}}
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    """A cluster with the volume controller; kubelets and the provisioner are played."""
    parts = ("kube-controller-manager", "kwok")
    with ControlPlane(ControlPlaneConfig(parts=parts)) as plane:
        yield plane


@pytest.fixture(scope="module")
def daemon(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    folder = tmp_path_factory.mktemp("daemon")
    profile = folder / "profile.yaml"
    profile.write_text(PROFILE % TIMEOUT, encoding="utf-8")
    words = ("--no-leader-elect", "--profile", str(profile))
    with Daemon(cluster.kubeconfig, folder / "log", *words) as daemon:
        yield daemon.ready()


# ---------------------------------------------------------------- volumes that are there


def disk(yard: Yard, name: str, on: str) -> None:
    """A volume that is there already, on one node."""
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [on]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [here]}]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": yard.space,
        "local": {"path": "/x"},
        "nodeAffinity": {"required": terms},
    }
    put(yard.plane, "/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": spec})


def claim(yard: Yard, name: str) -> None:
    """A claim that waits for its first pod."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": yard.space,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    path = f"/api/v1/namespaces/{yard.space}/persistentvolumeclaims"
    put(yard.plane, path, {"metadata": {"name": name}, "spec": spec})


def with_claim(yard: Yard, name: str) -> dict[str, Any]:
    source = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    return yard.template("db", volumes=[source])


def first_version(watch: Watch, holds: Callable[[dict[str, Any]], bool]) -> int:
    """First version at which an object satisfied ``holds``; the watch may still deliver it."""
    seen: list[int] = []

    def was() -> bool:
        news = [event.record for event in watch.poll()]
        seen.extend(each.version for each in news if holds(json.loads(each.body)))
        return bool(seen)

    until(was, lambda: "it never was")
    return seen[0]


@pytest.fixture
def attic(yard: Yard) -> Iterator[Yard]:
    """A yard with a class of volumes that wait for their first pod."""
    path = "/apis/storage.k8s.io/v1/storageclasses"
    late = {"provisioner": "kubernetes.io/no-provisioner"}
    late["volumeBindingMode"] = "WaitForFirstConsumer"
    put(yard.plane, path, {"metadata": {"name": yard.space}, **late})
    yield yard
    for name in ("on-b", "spare"):
        yard.plane.send("DELETE", f"/api/v1/persistentvolumes/{yard.space}-{name}")


def test_a_claim_is_bound_before_its_pod_and_where_its_volume_is(attic: Yard) -> None:
    _, second = attic.nodes("a", "b")
    with closing(store_of(attic.plane)) as store:
        watches = {kind: store.watch(kind, store.list(kind).version) for kind in (POD, CLAIM)}
        disk(attic, f"{attic.space}-on-b", second)
        claim(attic, "data")
        attic.pod("db", with_claim(attic, "data"))
        attic.until(lambda: attic.places() == {"db": second})
        of_pod = first_version(watches[POD], lambda each: "nodeName" in each["spec"])
        done = "pv.kubernetes.io/bind-completed"
        of_claim = first_version(
            watches[CLAIM], lambda each: done in each["metadata"].get("annotations", {})
        )
    assert of_claim < of_pod


def test_a_claim_without_a_volume_waits_and_its_pod_with_it(attic: Yard) -> None:
    (node,) = attic.nodes("a")
    claim(attic, "data")
    attic.pod("db", with_claim(attic, "data"))
    attic.pod("plain", attic.template("plain"))
    attic.until(lambda: attic.places() == {"plain": node})
    disk(attic, f"{attic.space}-spare", node)
    attic.until(lambda: set(attic.places()) == {"plain", "db"})


# ---------------------------------------------------------------- volumes that are made


class Provisioner:
    """A fake provisioner of a storage class: it reads PVCs when the test requests it."""

    def __init__(self, yard: Yard) -> None:
        self.yard = yard
        path = "/apis/storage.k8s.io/v1/storageclasses"
        made = {"provisioner": PROVISIONER, "volumeBindingMode": "WaitForFirstConsumer"}
        put(yard.plane, path, {"metadata": {"name": yard.space}, **made})

    def claim(self, name: str) -> dict[str, Any]:
        """A claim as the server holds it."""
        path = f"/api/v1/namespaces/{self.yard.space}/persistentvolumeclaims/{name}"
        return item(self.yard.plane, path)

    def node_of(self, name: str) -> str:
        """The node for which a PVC's volume is requested; empty if none is selected yet."""
        notes = self.claim(name)["metadata"].get("annotations", {})
        return str(notes.get(SELECTED, ""))

    def requested(self, name: str) -> str:
        """Wait until a node is named; that node."""
        until(lambda: self.node_of(name) != "", self.yard.said)
        return self.node_of(name)

    def makes(self, name: str) -> None:
        """Create the volume on the selected node for the PVC."""
        found, node = self.claim(name), self.node_of(name)
        volume = f"pvc-{found['metadata']['uid']}"
        disk(self.yard, volume, node)
        reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "name": name}
        reference |= {"namespace": self.yard.space, "uid": found["metadata"]["uid"]}
        change = {
            "metadata": {"annotations": {"pv.kubernetes.io/provisioned-by": PROVISIONER}},
            "spec": {"claimRef": reference},
        }
        path = f"/api/v1/persistentvolumes/{volume}"
        assert self.yard.plane.send("PATCH", path, json.dumps(change).encode()).status == 200

    def cannot(self, name: str) -> None:
        """Report missing capacity on the node, as provisioners do: remove the selected node."""
        path = f"/api/v1/namespaces/{self.yard.space}/persistentvolumeclaims/{name}"
        nothing = json.dumps({"metadata": {"annotations": {SELECTED: None}}}).encode()
        assert self.yard.plane.send("PATCH", path, nothing).status == 200


@pytest.fixture
def maker(yard: Yard) -> Provisioner:
    return Provisioner(yard)


def test_a_volume_is_made_where_its_pod_goes_and_the_pod_waits_for_it(
    yard: Yard, maker: Provisioner
) -> None:
    yard.nodes("a", "b")
    claim(yard, "data")
    yard.pod("db", with_claim(yard, "data"))
    chosen = maker.requested("data")
    assert not any("nodeName" in each["spec"] for each in yard.pods())
    maker.makes("data")
    yard.until(lambda: yard.places() == {"db": chosen})
    yard.until(lambda: maker.claim("data")["status"]["phase"] == "Bound")  # said last of all


def test_a_node_for_which_no_volume_can_be_made_is_given_up(yard: Yard, maker: Provisioner) -> None:
    first, second = yard.nodes("a", "b")
    claim(yard, "data")
    yard.pod("db", with_claim(yard, "data"))
    refused = maker.requested("data")
    other = second if refused == first else first
    yard.kubectl("cordon", refused)  # else it may be chosen again: it looks as good as the other

    def other_is_chosen() -> bool:
        if maker.node_of("data") == refused:  # repeated: the cordon may not be known yet
            maker.cannot("data")
        return maker.node_of("data") == other

    until(other_is_chosen, yard.said)
    maker.makes("data")
    yard.until(lambda: yard.places() == {"db": other})


def test_waiting_for_an_unprovisioned_volume_times_out_and_is_reported(
    yard: Yard, maker: Provisioner
) -> None:
    (node,) = yard.nodes("a")
    claim(yard, "data")
    yard.pod("db", with_claim(yard, "data"))
    maker.requested("data")
    reported: list[str] = []

    def is_reported() -> bool:
        reported.append(yard.why("db"))
        return f"waited {TIMEOUT} s for volumes on node {node}" in reported[-1]

    yard.until(is_reported)
    assert f"{PROVISIONER} has not provisioned PVC data (class {yard.space})" in reported[-1]
    assert f"kubectl describe pvc data -n {yard.space}" in reported[-1]
    words = ("get", "events", "-o", "jsonpath={.items[*].message}")
    yard.until(lambda: "has not provisioned PVC data" in yard.kubectl(*words))
    maker.makes("data")
    yard.until(lambda: yard.places() == {"db": node})
