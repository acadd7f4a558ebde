"""Sharded lists and watches: ranges of hashes that the server selects."""

import json
from urllib.parse import quote

import pytest

from stretto.web.api.message import ApiRequest, ApiResponse, ApiStream
from stretto.web.api.selection.shards import parse_shards
from stretto.web.api.server import ApiServer
from tests.unit.web.api.conftest import Reply, Send

MAPS = "/api/v1/namespaces/default/configmaps"
LOW = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
HIGH = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"


def store(send: Send, count: int = 12) -> list[str]:
    return [
        send("POST", MAPS, {"metadata": {"name": f"m{number:02}"}}).item["metadata"]["uid"]
        for number in range(count)
    ]


def listed(send: Send, shards: str, query: str = "") -> Reply:
    return send("GET", f"{MAPS}?shardSelector={quote(shards)}{query}")


def uids(reply: Reply) -> list[str]:
    return [each["metadata"]["uid"] for each in reply.item["items"]]


@pytest.mark.parametrize(
    ("uid", "is_low"),
    [
        ("19ebe507-44f7-45f8-b4a2-fae180f49f14", False),
        ("1dbfe660-dbaf-44f2-b9af-e0f2047f037a", False),
        ("40313a81-f173-49a1-ad03-db11040f1741", True),
        ("d331d059-c9f7-41b5-a5ba-e5397261acbe", False),
        ("ebb60de5-dd0f-4b79-8e29-0ddbe55e7c19", True),
    ],
)
def test_objects_are_in_the_shards_of_kubernetes(uid: str, is_low: bool) -> None:
    low, high = parse_shards(LOW), parse_shards(HIGH)
    assert low is not None
    assert high is not None
    assert (low.selects(uid, ""), high.selects(uid, "")) == (is_low, not is_low)


def halves(known: list[str]) -> tuple[str, str]:
    """Two shards with half of the objects each."""
    bound = 1 << 63
    for bit in range(62, 0, -1):
        below = parse_shards(LOW.replace("0x8000000000000000", f"{bound:#018x}"))
        assert below is not None
        count = sum(below.selects(each, "") for each in known)
        bound += (count < len(known) // 2) * (1 << bit) - (count > len(known) // 2) * (1 << bit)
    return (
        LOW.replace("0x8000000000000000", f"{bound:#018x}"),
        HIGH.replace("0x8000000000000000", f"{bound:#018x}"),
    )


def test_each_object_is_in_one_of_the_shards(send: Send) -> None:
    known = store(send)
    first, second = halves(known)
    low, high = uids(listed(send, first)), uids(listed(send, second))
    assert (len(low), sorted(low + high)) == (6, sorted(known))
    assert sorted(uids(listed(send, f"{first} || {second}"))) == sorted(known)


def test_a_list_states_its_shards(send: Send) -> None:
    answer = listed(send, LOW.replace("'", '"').replace(", ", ","))
    assert answer.item["metadata"]["shardInfo"] == {"selector": LOW}


def test_only_lists_of_whole_objects_state_their_shards(server: ApiServer) -> None:
    accept = {"accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    answer = server.handle(ApiRequest("GET", f"{MAPS}?shardSelector={quote(LOW)}", accept))
    assert isinstance(answer, ApiResponse)
    assert "shardInfo" not in json.loads(answer.body)["metadata"]


def test_pages_of_a_shard_have_its_objects_only(send: Send) -> None:
    shards, _ = halves(store(send))
    first = listed(send, shards, "&limit=2").item
    token = first["metadata"]["continue"]
    assert first["metadata"]["remainingItemCount"] == 10
    rest = listed(send, shards, f"&continue={token}")
    names = [each["metadata"]["name"] for each in [*first["items"], *rest.item["items"]]]
    assert names == [each["metadata"]["name"] for each in listed(send, shards).item["items"]]


def test_a_namespace_is_in_one_shard_as_a_whole(send: Send) -> None:
    store(send, 3)
    low, high = (each.replace("uid", "namespace") for each in (LOW, HIGH))
    assert (uids(listed(send, low)), len(uids(listed(send, high)))) == ([], 3)


def test_a_watch_yields_the_events_of_its_shards(send: Send, server: ApiServer) -> None:
    path = f"{MAPS}?watch=true&resourceVersion=1&shardSelector={quote(LOW)}"
    stream = server.handle(ApiRequest("GET", path))
    assert isinstance(stream, ApiStream)
    store(send)
    events = [json.loads(line) for chunk in stream.poll() or () for line in chunk.splitlines()]
    found = [each["object"]["metadata"]["uid"] for each in events if each["type"] == "ADDED"]
    assert found == uids(listed(send, LOW))


@pytest.mark.parametrize(
    ("selector", "problem"),
    [
        (" ", "empty shard selector is not allowed"),
        ("garbage", "unexpected expression kind 3; expected shardRange() call or || operator"),
        (f"!{LOW}", 'unsupported function "!_"; only shardRange() and || are allowed'),
        (f"{LOW} && {HIGH}", 'unsupported function "_&&_"; only shardRange() and || are allowed'),
        ("shardRange(", "CEL parse error: Syntax error: "),
        (LOW.replace("uid", "name"), 'unsupported field path "object.metadata.name"; supported: '),
        (LOW.replace("0x0000000000000000", "0x0"), '(did you mean "0x0000000000000000"?)'),
        (LOW.replace("0x0000000000000000", "zz"), "hexStart must have '0x' prefix, got \"zz\""),
        (LOW.replace("0x8", "0xA"), 'hexEnd: invalid hex character "A" in "0xA000000000000000"'),
        (LOW.replace("0x8", "0x20"), "17-digit hex value must be '0x10000000000000000' (2^64)"),
        (LOW.replace("0x8", "0x0"), "start 0x0000000000000000 must be less than end 0x00000000"),
        ("shardRange(object.metadata.uid, 1, 2)", "hexStart must be a string literal, got int64"),
        ("shardRange(object.metadata.uid)", "requires exactly 3 arguments, got 1"),
        (f"{LOW} || {HIGH.replace('uid', 'namespace')}", "must use the same field"),
        ("a||" * 10_000, "expression code point size exceeds limit: size: 30000, limit 20000"),
    ],
)
def test_a_malformed_selector_is_refused(send: Send, selector: str, problem: str) -> None:
    answer = listed(send, selector)
    assert answer.status == 500
    assert answer.message.startswith("invalid shard selector: ")
    assert problem in answer.message
