"""Lists in every form and media type that clients accept."""

import json

import pytest

from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer
from tests.unit.web.api.conftest import Send

MAPS = "/api/v1/namespaces/default/configmaps"
MEDIA = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]
METADATA = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def listed(server: ApiServer, accept: str) -> ApiResponse:
    answer = server.handle(ApiRequest("GET", MAPS, {"accept": accept}))
    assert isinstance(answer, ApiResponse)
    return answer


@pytest.mark.parametrize("form", ["", METADATA])
@pytest.mark.parametrize("media", MEDIA)
def test_an_empty_list_is_served(server: ApiServer, media: str, form: str) -> None:
    answer = listed(server, media + form)
    assert (answer.status, answer.content_type) == (200, media)


@pytest.mark.parametrize("form", ["", METADATA])
@pytest.mark.parametrize("media", MEDIA)
def test_a_list_contains_the_names(server: ApiServer, send: Send, media: str, form: str) -> None:
    send("POST", MAPS, {"metadata": {"name": "settings"}})
    assert b"settings" in listed(server, media + form).body


def test_an_empty_list_of_metadata_has_no_items(server: ApiServer) -> None:
    assert json.loads(listed(server, MEDIA[0] + METADATA).body)["items"] is None
