"""Negotiation of the form of a response, as recorded from kube-apiserver 1.36.3."""

import json
from collections.abc import Callable

import pytest

from stretto.web.api.message import Answer, ApiRequest, ApiResponse, ApiStream
from stretto.web.api.negotiation import (
    METADATA_FORMS,
    OBJECT_FORMS,
    SERVED,
    Accepted,
    error_media,
    negotiate,
)
from stretto.web.api.server import ApiServer

JSON, YAML, PROTOBUF = SERVED
META = "g=meta.k8s.io;v=v1"
MAPS = "/api/v1/namespaces/default/configmaps"
Fetch = Callable[..., Answer]


@pytest.fixture
def fetch(server: ApiServer) -> Fetch:
    """Sends a request with an ``Accept`` header."""

    def sent(path: str, accept: str, method: str = "GET", body: str = "") -> Answer:
        headers = {"accept": accept, "content-type": JSON}
        return server.handle(ApiRequest(method, path, headers, body.encode()))

    return sent


def message(answer: Answer) -> str:
    assert isinstance(answer, ApiResponse)
    return str(json.loads(answer.body)["message"])


@pytest.mark.parametrize(
    ("header", "media"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("*", JSON),
        ("application/*", JSON),
        (f"{JSON};q=0.1,{YAML}", YAML),
        (f"*/*;q=0.9, {YAML};q=0.5", YAML),  # a specific range precedes a general one
        (f"{JSON};q=x, {YAML};q=0.2", YAML),
        (f"{YAML};stream=watch, {JSON}", JSON),
        (f"{JSON};sv=v2, {YAML}", YAML),
        (f"{JSON};as=Foo;{META},{YAML}", YAML),
        (f"text/html,{JSON};charset=utf-8", JSON),
    ],
)
def test_media_types_are_chosen_in_the_order_of_the_header(header: str, media: str) -> None:
    assert negotiate(header, SERVED, OBJECT_FORMS) == Accepted(media)


@pytest.mark.parametrize(
    "header",
    ["text/html", "application/JSON", "application/json/x", f"{JSON};v=v1", f"{JSON};stream=foo"],
)
def test_headers_without_a_served_form_select_none(header: str) -> None:
    assert negotiate(header, SERVED, OBJECT_FORMS) is None


def test_tables_are_not_encoded_in_protobuf() -> None:
    header = f"{PROTOBUF};as=Table;{META},{JSON};as=Table;{META}"
    assert negotiate(header, SERVED, OBJECT_FORMS) == Accepted(JSON, "Table")


def test_resources_without_columns_have_no_table() -> None:
    assert negotiate(f"{JSON};as=Table;{META}", SERVED, METADATA_FORMS) is None


def test_metadata_is_served_in_media_types_that_the_object_lacks() -> None:
    header = f"{PROTOBUF};as=PartialObjectMetadata;{META}"
    found = negotiate(header, (JSON, YAML), OBJECT_FORMS)
    assert found == Accepted(PROTOBUF, "PartialObjectMetadata")


def test_errors_are_json_if_no_served_form_is_accepted() -> None:
    assert error_media(f"{YAML};as=Table;{META}") == JSON


def test_a_list_has_no_form_of_one_object(fetch: Fetch) -> None:
    answer = fetch(MAPS, f"{JSON};as=PartialObjectMetadata;{META}")
    assert message(answer) == (
        "you requested PartialObjectMetadata, but the requested object is a list "
        "(*core.ConfigMapList)"
    )


def test_an_object_has_no_form_of_a_list(fetch: Fetch) -> None:
    answer = fetch("/api/v1/namespaces/default", f"{JSON};as=PartialObjectMetadataList;{META}")
    assert message(answer).endswith("the requested object is not a list (*core.Namespace)")


def test_a_write_whose_answer_is_not_acceptable_stores_nothing(fetch: Fetch) -> None:
    fetch(MAPS, "text/html", "POST", '{"metadata":{"name":"a"}}')
    assert fetch(f"{MAPS}/a", JSON).status == 404


def test_an_empty_list_of_metadata_has_a_protobuf_form(fetch: Fetch) -> None:
    answer = fetch(MAPS, f"{PROTOBUF};as=PartialObjectMetadataList;{META}")
    assert isinstance(answer, ApiResponse)
    assert answer.body.startswith(b"k8s\0")


def test_a_watch_in_yaml_is_refused_after_its_version(fetch: Fetch) -> None:
    statuses = [fetch(f"{MAPS}?watch=1{each}", YAML).status for each in ("", "&resourceVersion=x")]
    assert statuses == [406, 500]


def test_the_version_of_the_server_is_json_only(fetch: Fetch) -> None:
    available = "406: Not Acceptable\n\nAvailable representations: application/json"
    assert message(fetch("/version", "text/html")) == available


def test_a_watch_as_a_list_of_metadata_ends_at_its_first_event(fetch: Fetch) -> None:
    stream = fetch(f"{MAPS}?watch=1", f"{JSON};as=PartialObjectMetadataList;{META}")
    assert isinstance(stream, ApiStream)
    fetch(MAPS, JSON, "POST", '{"metadata":{"name":"a"}}')
    assert stream.poll() is None


def test_a_watch_with_a_negative_timeout_has_ended(fetch: Fetch) -> None:
    stream = fetch(f"{MAPS}?watch=1&timeoutSeconds=-1", JSON)
    assert isinstance(stream, ApiStream)
    assert stream.poll() is None


def test_initial_events_of_a_future_version_are_an_error(fetch: Fetch) -> None:
    options = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=999999"
    stream = fetch(f"{MAPS}?watch=1&{options}", JSON)
    assert isinstance(stream, ApiStream)
    assert b"Too large resource version" in b"".join(stream.poll() or ())


def test_a_watch_path_is_checked_as_a_list(fetch: Fetch) -> None:
    options = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    answer = fetch(f"/api/v1/watch/namespaces/default/configmaps?{options}", JSON)
    assert "sendInitialEvents is forbidden for list" in message(answer)


def test_a_watch_path_of_one_object_refuses_other_fields(fetch: Fetch) -> None:
    path = "/api/v1/watch/namespaces/default/configmaps/a?fieldSelector=metadata.name%3Db"
    assert message(fetch(path, JSON)) == "fieldSelector metadata.name doesn't match requested name"
