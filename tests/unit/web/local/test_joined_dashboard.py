"""The dashboard over a cluster that exists: actions with the rights of the kubeconfig's user."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.cli.console import Console
from stretto.cli.options import CommandContext
from stretto.cli.parts.dashboards.joined import joined_dashboard
from stretto.web.api.authn.users import TokenTable, User
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiSettings
from stretto.web.dashboard.guard import LOCAL
from stretto.web.local.access import ServerAccess, write_kubeconfig
from stretto_lab.conformance.apiserver.served import ServedCluster
from tests.unit.web.dashboards import get, post
from tests.unit.web.local.clusters import node, pod

RBAC = "/apis/rbac.authorization.k8s.io/v1"
PODS = "/api/v1/namespaces/default/pods"
USERS = {"token": User("root", "", ("system:masters",)), "ada": User("ada")}
TREES = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "trees.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Cluster",
        "names": {"plural": "trees", "kind": "Tree"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


class JoinedSite:
    """A cluster with node n1 and pod web on it, and its dashboard for users."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        settings = ApiSettings(WallClock(), Rng(2), TokenTable(USERS))
        self.cluster = ServedCluster(folder / "root", settings, full=False)
        self.send("POST", "/api/v1/nodes", node("n1"))
        self.send("PATCH", "/api/v1/nodes/n1", {"spec": {"taints": None}})
        self.send("POST", PODS, pod("web", "n1"))

    def send(self, method: str, target: str, body: Any = None) -> Any:
        """The answer to a request of the administrator."""
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"content-type": media, "authorization": "Bearer token"}
        data = b"" if body is None else json.dumps(body).encode()
        answer = self.cluster.handle(ApiRequest(method, target, headers, data))
        assert isinstance(answer, ApiResponse)
        return json.loads(answer.body)

    def grant(self, role: str) -> None:
        """Give ada a ClusterRole."""
        subject = {"kind": "User", "name": "ada", "apiGroup": "rbac.authorization.k8s.io"}
        reference = {"kind": "ClusterRole", "name": role, "apiGroup": subject["apiGroup"]}
        binding = {"metadata": {"name": role}, "roleRef": reference, "subjects": [subject]}
        self.send("POST", f"{RBAC}/clusterrolebindings", binding)

    def kubeconfig(self, user: str) -> Path:
        """The kubeconfig of a user."""
        path = self.folder / user
        write_kubeconfig(path, ServerAccess(f"http://127.0.0.1:{self.cluster.port}", user))
        return path


@pytest.fixture
def site(tmp_path: Path) -> Iterator[JoinedSite]:
    site = JoinedSite(tmp_path)
    yield site
    site.cluster.close()


def opened(site: JoinedSite, user: str) -> Any:
    """The dashboard of a user, for the duration of a block."""
    common = CommandContext(Console(quiet=True), 0, False, None)
    return joined_dashboard(common, site.kubeconfig(user), "", LOCAL)


@pytest.fixture
def root(site: JoinedSite) -> Iterator[Starlette]:
    with opened(site, "token") as app:
        yield app


@pytest.fixture
def reader(site: JoinedSite) -> Iterator[Starlette]:
    """The dashboard of a user who may only read."""
    rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
    site.send("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "reads"}, "rules": [rule]})
    site.grant("reads")
    with opened(site, "ada") as app:
        yield app


def yaml(kind: str, version: str = "v1") -> dict[str, str]:
    """A form with one object."""
    spec = "spec: {containers: [{name: c, image: i}]}" if kind == "Pod" else ""
    return {"objects": f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n{spec}"}


def test_a_node_is_closed_and_opened_in_the_cluster(site: JoinedSite, root: Starlette) -> None:
    assert post(root, "/actions/cordon", {"subject": "n1"}).status_code == 303
    assert site.send("GET", "/api/v1/nodes/n1")["spec"]["unschedulable"] is True
    assert post(root, "/actions/uncordon", {"subject": "n1"}).status_code == 303
    assert "unschedulable" not in site.send("GET", "/api/v1/nodes/n1")["spec"]


def test_a_pod_is_evicted_from_the_cluster(site: JoinedSite, root: Starlette) -> None:
    preview = get(root, "/actions/evict?subject=default/web").text
    assert "It ends on n1" in preview
    assert "The action is that of root." in preview
    assert post(root, "/actions/evict", {"subject": "default/web"}).status_code == 303
    assert "deletionTimestamp" in site.send("GET", f"{PODS}/web")["metadata"]


def test_a_refused_eviction_shows_the_message_of_the_server(
    site: JoinedSite, root: Starlette
) -> None:
    site.send("PATCH", f"{PODS}/web/status", {"status": {"phase": "Running"}})
    spec = {"minAvailable": 1, "selector": {}}
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    site.send("POST", budgets, {"metadata": {"name": "all"}, "spec": spec})
    page = post(root, "/actions/evict", {"subject": "default/web"})
    assert page.status_code == 409
    assert "violate the pod" in page.text


def test_pasted_objects_are_planned_and_then_created(site: JoinedSite, root: Starlette) -> None:
    plan = post(root, "/plan", yaml("Pod")).text
    assert "1 of 1 pod would be placed" in plan
    assert "<button>Submit 1 object</button>" in plan
    assert site.send("GET", f"{PODS}/x")["code"] == 404
    assert "1 of 1 object created." in post(root, "/actions/submit", yaml("Pod")).text
    assert site.send("GET", f"{PODS}/x")["kind"] == "Pod"


def test_an_object_that_exists_is_not_created(root: Starlette) -> None:
    post(root, "/actions/submit", yaml("ConfigMap"))
    page = post(root, "/actions/submit", yaml("ConfigMap")).text
    assert "0 of 1 object created." in page
    assert "already exists" in page


def test_a_kind_is_named_as_the_cluster_serves_it(site: JoinedSite, root: Starlette) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    site.send("POST", definitions, TREES)
    site.send("GET", definitions)
    page = post(root, "/actions/submit", yaml("Tree", "example.org/v1")).text
    assert "Tree x: created" in page


def test_a_kind_that_the_cluster_does_not_serve_is_refused(root: Starlette) -> None:
    page = post(root, "/actions/submit", yaml("Bush", "example.org/v1")).text
    assert "the cluster does not serve it" in page


def test_a_user_without_rights_gets_no_buttons(reader: Starlette) -> None:
    text = "ada may not patch nodes"
    assert text in get(reader, "/nodes/n1").text
    assert text in get(reader, "/actions/cordon?subject=n1").text
    pod_page = get(reader, "/pods/default/web").text
    assert "ada may not create pods/eviction in namespace default" in pod_page
    assert "ada may not create pods in namespace default" in post(reader, "/plan", yaml("Pod")).text


def test_an_action_without_rights_is_refused_by_the_server(
    site: JoinedSite, reader: Starlette
) -> None:
    page = post(reader, "/actions/cordon", {"subject": "n1"})
    assert page.status_code == 409
    assert "cannot patch resource" in page.text
    assert "unschedulable" not in site.send("GET", "/api/v1/nodes/n1")["spec"]


def test_moves_are_planned_on_a_copy_of_the_cluster(root: Starlette) -> None:
    page = post(root, "/defragment", {"goal": "nodes", "budget": "5"})
    assert page.status_code == 200
    assert 'role="alert"' not in page.text
