"""Media types of discovery, OpenAPI and the issuer: protobuf messages, and types not served."""

import pytest

from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer

PROTOBUF = "application/vnd.kubernetes.protobuf"
AGGREGATED = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def got(server: ApiServer, path: str, accept: str) -> ApiResponse:
    answer = server.handle(ApiRequest("GET", path, {"accept": accept}, b""))
    assert isinstance(answer, ApiResponse)
    return answer


def test_a_group_has_a_message(server: ApiServer) -> None:
    assert got(server, "/apis/apps", PROTOBUF).body == (
        b"k8s\x00\n\x0e\n\x02v1\x12\x08APIGroup"
        b"\x12$\n\x04apps\x12\r\n\x07apps/v1\x12\x02v1\x1a\r\n\x07apps/v1\x12\x02v1"
        b'\x1a\x00"\x00'
    )


def test_a_resource_has_its_empty_texts(server: ApiServer) -> None:
    body = got(server, "/api/v1", f"{PROTOBUF}, application/json").body
    head = b'\n\x08bindings\x10\x01\x1a\x07Binding"\x08\n\x06create2\x07bindingB\x00J\x00R\x00'
    assert head in body


def test_the_aggregated_document_has_a_message(server: ApiServer) -> None:
    answer = got(server, "/api", f"{PROTOBUF};{AGGREGATED}")
    assert answer.content_type == f"{PROTOBUF};{AGGREGATED}"
    assert answer.body.startswith(b"k8s\x00\n/\n\x16apidiscovery.k8s.io/v2\x12\x15APIGroup")


@pytest.mark.parametrize("path", ["/openapi/v2", "/.well-known/openid-configuration"])
def test_a_type_that_is_not_served_is_refused(server: ApiServer, path: str) -> None:
    assert got(server, path, "text/html").status == 406
