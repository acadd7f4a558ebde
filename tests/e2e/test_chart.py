"""The chart with roles, installed by helm: an account for each, with exactly its own rights."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.tools import missing
from tests.e2e.daemon import (
    bound,
    group,
    groups,
    item,
    kubectl,
    may,
    member,
    pod,
    put,
    ready_nodes,
    rights_settle,
    until,
)
from tests.e2e.deployed import ROOT, Deployed, shell
from tests.e2e.site import broken_laws

pytestmark = [
    pytest.mark.kube,
    pytest.mark.skipif("helm" in missing(["helm"]), reason="make kube-tools PROGRAMS=helm"),
]

CHART = "deploy/helm/stretto"
DAEMONS = ("dispatcher", "shard-0", "shard-1", "binder", "controller")
ROLES = ("dispatcher", "shard", "binder", "controller")
NOTHING = ("secrets", "configmaps", "serviceaccounts")
ONLY = {
    ("create", "pods/binding"): {"binder"},
    ("create", "pods/eviction"): {"dispatcher", "binder", "controller"},
    ("delete", "pods"): {"binder", "controller"},
    ("patch", "nodes"): {"dispatcher"},
    ("patch", "pods"): {"dispatcher"},
    ("patch", "pods/status"): {"dispatcher", "shard", "binder"},
    ("delete", "schedulers.scheduling.godel.kubewharf.io"): {"dispatcher"},
    ("create", "schedulers.scheduling.godel.kubewharf.io"): {"shard"},
    ("patch", "queues.scheduling.stretto.dev/status"): {"controller"},
    ("patch", "persistentvolumes"): {"binder"},
    ("create", "events"): {"dispatcher", "shard", "binder", "controller"},
    **{("get", kind): set[str]() for kind in NOTHING},
    **{("list", kind): set[str]() for kind in NOTHING},
    ("create", "pods"): set[str](),
    ("delete", "nodes"): set[str](),
    ("impersonate", "users"): set[str](),
}
"""Which roles may do what, by verb and resource."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster with the chart in it, roles on, and every Deployment of it running once."""
    folder = tmp_path_factory.mktemp("chart")
    with ControlPlane(ControlPlaneConfig(parts=("kwok",), audited=True)) as plane:
        ready_nodes(plane, "n0", "n1", cpu="16")
        words = "-n kube-system --set roles.enabled=true,shards=2"
        done = shell(plane, f"helm upgrade --install stretto {CHART} {words}", folder)
        assert done.returncode == 0, done.stderr
        rights_settle(plane)
        with ExitStack() as running:
            found = [Deployed(plane, folder / name, f"stretto-{name}") for name in DAEMONS]
            for each in found:
                running.enter_context(each)
            for each in found:
                each.ready()
            yield plane


def account(role: str) -> str:
    """A role's account in the API server's eyes."""
    return f"system:serviceaccount:kube-system:stretto-{role}"


def test_what_the_chart_installs_schedules_under_an_account_for_each_role(
    cluster: ControlPlane,
) -> None:
    put(cluster, "/api/v1/namespaces", {"metadata": {"name": "demo"}})
    put(cluster, groups("demo"), group("ring", 3))
    members = [member(f"ring-{number}", "ring") for number in range(3)]
    path = "/api/v1/namespaces/demo/pods"
    put(cluster, path, *members, *(pod(f"web-{number}", "10m") for number in range(8)))
    put(cluster, path, pod("wide", "99"))
    until(lambda: len(bound(cluster, "demo")) == 11, lambda: bound(cluster, "demo"))

    def phase() -> str:
        found = item(cluster, f"{groups('demo')}/ring")
        return str(found.get("status", {}).get("phase"))

    until(lambda: phase() == "Scheduled", phase)
    assert broken_laws(cluster) == []
    for role in ROLES:
        calls = cluster.audit(account(role))
        assert calls, role
        assert {call.what for call in calls if call.response_status.code == 403} == set()


@pytest.mark.parametrize(("verb", "resource"), ONLY, ids=" ".join)
def test_each_permission_belongs_to_its_account_and_to_no_other(
    cluster: ControlPlane, verb: str, resource: str
) -> None:
    name, _, part = resource.partition("/")
    about = {"verb": verb, "group": name.partition(".")[2], "resource": name.partition(".")[0]}
    what = {**about, "subresource": part, "namespace": "kube-system"}
    assert {role for role in ROLES if may(cluster, account(role), what)} == ONLY[verb, resource]


def test_the_rights_are_those_of_the_manifest(cluster: ControlPlane) -> None:
    text = (ROOT / "deploy" / "rbac-roles.yaml").read_text(encoding="utf-8")
    shipped = [e for e in yaml.safe_load_all(text) if e["kind"] == "ClusterRole"]
    assert len(shipped) == len(ROLES) + 1
    for each in shipped:
        said = kubectl(cluster, "get", "clusterrole", each["metadata"]["name"], "-o", "json")
        assert json.loads(said)["rules"] == each["rules"]


def test_a_lease_belongs_to_its_role(cluster: ControlPlane) -> None:
    lease = "leases.coordination.k8s.io/stretto-binder"
    may = ("auth", "can-i", "patch", lease, "-n", "kube-system", "--as")
    assert kubectl(cluster, *may, account("binder")).strip() == "yes"
    with pytest.raises(AssertionError):
        kubectl(cluster, *may, account("shard"))  # which answers no and exits with 1


def test_each_daemon_has_a_disruption_budget_of_its_own(cluster: ControlPlane) -> None:
    said = kubectl(cluster, "-n", "kube-system", "get", "poddisruptionbudgets", "-o", "name")
    names = {line.rpartition("/stretto-")[2] for line in said.split()}
    assert names == set(DAEMONS)


def test_other_labels_of_pods_are_the_user_s(cluster: ControlPlane, tmp_path: Path) -> None:
    words = r"--set 'podLabels.team=a,podLabels.app\.kubernetes\.io/version=b'"
    done = shell(cluster, f"helm template stretto {CHART} {words}", tmp_path)
    found = [each for each in yaml.safe_load_all(done.stdout) if each["kind"] == "Deployment"]
    labels = found[0]["spec"]["template"]["metadata"]["labels"]
    assert (labels["team"], labels["app.kubernetes.io/version"]) == ("a", "b")
    assert found[0]["spec"]["selector"]["matchLabels"].items() <= labels.items()
