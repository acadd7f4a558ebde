"""Lists in every form and media type that clients accept."""

import base64
import json

import pytest
import yaml

from stretto.web.api.message import ApiRequest, ApiResponse, ApiStream
from stretto.web.api.server import ApiServer
from stretto.web.api.verbs import pages
from tests.unit.web.api.conftest import Send

MAPS = "/api/v1/namespaces/default/configmaps"
MEDIA = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]
TABLE = ";as=Table;g=meta.k8s.io;v=v1"
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


def read_in_parts(server: ApiServer, accept: str) -> bytes:
    """The body of a list that is sent in parts."""
    answer = server.handle(ApiRequest("GET", MAPS, {"accept": accept}))
    assert isinstance(answer, ApiStream)
    assert answer.content_type == accept.partition(";")[0]
    return b"".join(b"".join(chunks) for chunks in iter(answer.poll, None))


@pytest.mark.parametrize("accept", [media + form for media in MEDIA for form in ("", METADATA)])
def test_a_long_list_has_the_bytes_of_a_short_one(
    server: ApiServer, send: Send, accept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcde":
        send("POST", MAPS, {"metadata": {"name": name}, "data": {"x": "é\x7f"}})
    short = listed(server, accept).body
    monkeypatch.setattr(pages, "_LONG", 3)
    monkeypatch.setattr(pages, "_LONG_ENCODED", 3)
    monkeypatch.setattr(pages, "_ENCODED", 2)
    long = read_in_parts(server, accept)
    assert yaml.safe_load(long) == yaml.safe_load(short) if "yaml" in accept else long == short


@pytest.mark.parametrize("media", MEDIA[:2])
def test_a_long_table_has_the_rows_of_a_short_one(
    server: ApiServer, send: Send, media: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcde":
        send("POST", MAPS, {"metadata": {"name": name}})
    short = listed(server, media + TABLE).body
    monkeypatch.setattr(pages, "_LONG_ENCODED", 3)
    monkeypatch.setattr(pages, "_ENCODED", 2)
    long = read_in_parts(server, media + TABLE)
    assert yaml.safe_load(long) == yaml.safe_load(short)


def test_a_long_list_refuses_the_forms_that_a_short_one_refuses(
    server: ApiServer, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    send("POST", MAPS, {"metadata": {"name": "a"}})
    monkeypatch.setattr(pages, "_LONG_ENCODED", 0)
    target = f"{MAPS}?includeObject=x"
    found = server.handle(ApiRequest("GET", target, {"accept": MEDIA[0] + TABLE}))
    assert found.status == 400


def test_the_table_of_a_dry_run_has_no_version(server: ApiServer) -> None:
    headers = {"accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    body = b'{"metadata": {"name": "settings"}}'
    answer = server.handle(ApiRequest("POST", f"{MAPS}?dryRun=All", headers, body))
    assert isinstance(answer, ApiResponse)
    assert json.loads(answer.body)["metadata"] == {}


def token_of(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("token", "problem"),
    [
        ("YQ==", "illegal base64 data at input byte 2"),
        (token_of([1]), "json: cannot unmarshal array into Go value of type storage.continueToken"),
        (
            token_of({"rv": "x"}),
            "json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
        ),
        (token_of({"v": "v2"}), "server does not recognize this encoded version v2"),
        (
            token_of({"v": "meta.k8s.io/v1"}),
            "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        ),
        (
            token_of({"v": "meta.k8s.io/v1", "rv": 1, "start": ""}),
            "encoded start key empty (version meta.k8s.io/v1)",
        ),
        (token_of({"v": "meta.k8s.io/v1", "rv": 1, "start": "a//b"}), "a//b"),
    ],
)
def test_a_malformed_token_is_refused(send: Send, token: str, problem: str) -> None:
    answer = send("GET", f"{MAPS}?limit=1&continue={token}")
    prefix = "invalid continue token: continue key is not valid"
    assert (answer.status, answer.message) == (400, f"{prefix}: {problem}")


def test_a_token_of_a_future_version_times_out(send: Send) -> None:
    token = token_of({"v": "meta.k8s.io/v1", "rv": 1 << 40, "start": "a"})
    answer = send("GET", f"{MAPS}?continue={token}")
    assert (answer.status, answer.item["reason"]) == (504, "Timeout")
