"""The dashboard over a cluster that exists: actions with the rights of the kubeconfig's user."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette

from tests.unit.web.dashboards import get, post
from tests.unit.web.local.joined_site import PODS, JoinedSite

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


@pytest.fixture
def site(tmp_path: Path) -> Iterator[JoinedSite]:
    site = JoinedSite(tmp_path)
    yield site
    site.cluster.close()


@pytest.fixture
def root(site: JoinedSite) -> Iterator[Starlette]:
    with site.dashboard("token") as app:
        yield app


@pytest.fixture
def reader(site: JoinedSite) -> Iterator[Starlette]:
    """The dashboard of a user who may only read."""
    site.grant_reading()
    with site.dashboard("ada") as app:
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
    answer = post(root, "/actions/evict", {"subject": "default/web"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/nodes/n1")
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


def test_a_plan_shows_what_the_server_refuses_in_a_dry_run(
    site: JoinedSite, root: Starlette
) -> None:
    form = yaml("Pod")["objects"]
    known = form.replace("name: x", "name: web")
    plan = post(root, "/plan", {"objects": f"{form}\n---\n{known}"}).text
    assert "The cluster would refuse 1 of 2 objects." in plan
    assert "pods &#34;web&#34; already exists" in plan
    assert "Pod default/x: accepted in a dry run" in plan
    assert site.send("GET", f"{PODS}/x")["code"] == 404


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
