"""Paths outside the API of resources: health, the issuer of tokens, OpenAPI."""

import json
import re
from typing import Any

import pytest

from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer
from tests.unit.web.api.conftest import Send


def page(server: ApiServer, target: str, **headers: str) -> ApiResponse:
    answer = server.handle(ApiRequest("GET", target, headers))
    assert isinstance(answer, ApiResponse)
    return answer


def test_health_lists_the_checks_and_those_that_are_left_out(server: ApiServer) -> None:
    lines = page(server, "/readyz?verbose&exclude=etcd&exclude=x").body.decode().splitlines()
    assert "[+]etcd excluded: ok" in lines
    assert 'warn: some health checks cannot be excluded: no matches for "x"' in lines
    assert lines[-1] == "readyz check passed"


@pytest.mark.parametrize(("path", "status"), [("/livez/etcd", 200), ("/livez/nothing", 404)])
def test_a_check_has_a_path_of_its_own(server: ApiServer, path: str, status: int) -> None:
    assert page(server, path).status == status


def test_the_root_lists_the_paths(server: ApiServer) -> None:
    paths = json.loads(page(server, "/").body)["paths"]
    assert {"/api/v1", "/livez/etcd", "/readyz/shutdown", "/openid/v1/jwks"} <= set(paths)


def test_the_key_of_account_tokens_is_published(server: ApiServer) -> None:
    found = json.loads(page(server, "/.well-known/openid-configuration").body)
    keys: Any = json.loads(page(server, "/openid/v1/jwks").body)["keys"]
    assert found["id_token_signing_alg_values_supported"] == [keys[0]["alg"]]
    assert keys[0]["kty"] == "EC"


def test_a_link_with_an_old_hash_leads_to_the_document(server: ApiServer) -> None:
    answer = page(server, "/openapi/v3/api/v1?hash=OLD")
    assert answer.status == 301
    assert page(server, str(answer.headers["Location"])).status == 200


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3/apis/apps/v1"])
def test_openapi_is_not_served_as_yaml(server: ApiServer, path: str) -> None:
    assert page(server, path, accept="application/yaml").status == 406


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/openapi", b"404 page not found\n"),
        ("/openapi/v2/x", b"404 page not found\n"),
        ("/openapi/v2/", b"404 page not found\n"),
        ("/livez/", b"404 page not found\n"),
        ("/openapi/v3/", b""),
        ("/openapi/v3/apis/none/v1", b""),
    ],
)
def test_an_absent_page_is_not_found(server: ApiServer, path: str, body: bytes) -> None:
    answer = page(server, path)
    assert (answer.status, answer.body) == (404, body)


@pytest.mark.parametrize(
    ("path", "kind"), [("/apis/", "APIGroupList"), ("/api/", "APIGroupDiscoveryList")]
)
def test_only_the_groups_at_a_path_with_a_slash_are_not_aggregated(
    server: ApiServer, path: str, kind: str
) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    assert json.loads(page(server, path, accept=accept).body)["kind"] == kind


@pytest.mark.parametrize("query", ["labelSelector=x;y", "fieldSelector=a;b&limit=0"])
def test_a_pair_of_a_query_with_a_semicolon_is_dropped(server: ApiServer, query: str) -> None:
    assert page(server, f"/api/v1/namespaces?{query}").status == 200


def test_the_first_malformed_part_of_a_field_selector_is_the_least(send: Send) -> None:
    answer = send("GET", "/api/v1/pods?fieldSelector=x%20in%20(1,2)")
    assert answer.message == "invalid selector: 'x in (1,2)'; can't understand '2)'"


@pytest.mark.parametrize(("query", "count"), [("", 1), ("?propagationPolicy=Orphan", 0)])
def test_the_deletion_of_all_jobs_warns_that_pods_are_kept(
    send: Send, query: str, count: int
) -> None:
    answer = send("DELETE", f"/apis/batch/v1/namespaces/default/jobs{query}")
    assert len(answer.warnings) == count


def test_the_network_of_services_is_ready(send: Send) -> None:
    item = send("GET", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes").item
    assert item["status"]["conditions"][0]["type"] == "Ready"
    assert item["metadata"]["managedFields"][0]["operation"] == "Apply"


@pytest.mark.parametrize("joint", [".", "@"])
def test_openapi_v2_is_served_as_protobuf(server: ApiServer, joint: str) -> None:
    media = f"application/com.github.proto-openapi.spec.v2{joint}v1.0+protobuf"
    answer = page(server, "/openapi/v2", accept=media)
    assert answer.content_type == media.replace("@", ".")


@pytest.mark.parametrize("path", ["/", "/version"])
def test_a_page_without_negotiation_has_line_breaks(server: ApiServer, path: str) -> None:
    text = page(server, path).body.decode()
    assert text == json.dumps(json.loads(text), indent=2)


def test_the_table_of_components_shows_their_health(server: ApiServer) -> None:
    table = "application/json;as=Table;g=meta.k8s.io;v=v1"
    rows = json.loads(page(server, "/api/v1/componentstatuses", accept=table).body)["rows"]
    assert rows[2]["cells"] == ["etcd-0", "Healthy", "ok", ""]


def test_components_have_a_status(send: Send) -> None:
    items = send("GET", "/api/v1/componentstatuses").item["items"]
    names = [each["metadata"]["name"] for each in items]
    assert names == ["controller-manager", "scheduler", "etcd-0"]
    assert send("GET", "/api/v1/componentstatuses/etcd-0").item["conditions"][0]["status"] == "True"
    assert send("GET", "/api/v1/componentstatuses/none").status == 404


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/metrics", b"# HELP"),
        ("/metrics/slis", b'kubernetes_healthcheck{name="etcd",type="readyz"} 1'),
        ("/flagz", b"allow-privileged=true"),
        ("/statusz", b"kube-apiserver statusz"),
    ],
)
def test_operators_read_the_state_of_the_server(server: ApiServer, path: str, text: bytes) -> None:
    answer = page(server, path)
    assert answer.status == 200
    assert text in answer.body


@pytest.mark.parametrize("name", ["apis", "apis/apps", "version", "openid/v1/jwks"])
def test_openapi_describes_the_paths_of_the_server(server: ApiServer, name: str) -> None:
    links = json.loads(page(server, "/openapi/v3").body)["paths"]
    document = json.loads(page(server, links[name]["serverRelativeURL"]).body)
    assert list(document["paths"]) == [f"/{name}/"]


def test_openapi_v2_lists_versions_in_the_same_order_in_every_process(server: ApiServer) -> None:
    paths = json.loads(page(server, "/openapi/v2").body)["paths"]
    versions = [path for path in paths if re.fullmatch("/apis/[^/]+/[^/]+/", path)]
    assert len(versions) > 20
    assert versions == sorted(versions)


def test_openapi_v3_is_served_as_protobuf(server: ApiServer) -> None:
    media = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
    answer = page(server, "/openapi/v3/apis/apps/v1", accept=media)
    assert answer.content_type == media.replace("@", ".")
    assert b"#/components/schemas/io.k8s.api.apps.v1.DeploymentList" in answer.body


def test_the_owners_of_an_object_are_described(server: ApiServer) -> None:
    document = json.loads(page(server, "/openapi/v3/api/v1").body)
    meta = document["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]
    assert meta["properties"]["ownerReferences"]["description"].startswith("The objects on which")


def test_every_reference_of_a_document_leads_to_a_schema(server: ApiServer) -> None:
    body = page(server, "/openapi/v3/api/v1").body
    known = set(json.loads(body)["components"]["schemas"])
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', body.decode()))
    assert named == known


def test_a_path_states_the_parameters_that_its_operations_share(server: ApiServer) -> None:
    path = "/api/v1/namespaces/{namespace}/pods/{name}"
    item = json.loads(page(server, "/openapi/v3/api/v1").body)["paths"][path]
    assert [each["name"] for each in item["parameters"]] == ["name", "namespace", "pretty"]
    assert {each["name"] for each in item["patch"]["parameters"]} >= {"force", "fieldManager"}
