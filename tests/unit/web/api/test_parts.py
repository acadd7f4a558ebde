"""Lists and watches of one of several equal parts of the objects."""

import json

import pytest

from stretto.web.api.message import ApiRequest, ApiStream
from stretto.web.api.server import ApiServer
from tests.unit.web.api.conftest import Reply, Send

MAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def store(send: Send, count: int = 12) -> list[str]:
    names = [f"m{number:02}" for number in range(count)]
    for number, name in enumerate(names):
        send("POST", MAPS, {"metadata": {"name": name, "labels": {"tier": f"t{number}"}}})
    return names


def part(index: int, count: int = 3, label: str = "tier") -> str:
    return f"shardingCount={count}&shardingIndex={index}&shardingLabelKey={label}"


def listed(send: Send, query: str, path: str = MAPS) -> Reply:
    return send("GET", f"{path}?{query}")


def names_of(reply: Reply) -> list[str]:
    return [each["metadata"]["name"] for each in reply.item["items"]]


def relabel(send: Send, name: str, tier: str) -> None:
    change = {"metadata": {"labels": {"tier": tier}}}
    send("PATCH", f"{MAPS}/{name}", change, "merge-patch+json")


def watched(server: ApiServer, send: Send, query: str) -> ApiStream:
    version = send("GET", MAPS).item["metadata"]["resourceVersion"]
    target = f"{MAPS}?watch=1&resourceVersion={version}&{query}"
    stream = server.handle(ApiRequest("GET", target))
    assert isinstance(stream, ApiStream)
    return stream


def events(stream: ApiStream) -> list[tuple[str, str]]:
    lines = [json.loads(line) for chunk in stream.poll() or () for line in chunk.splitlines()]
    return [(each["type"], each["object"]["metadata"]["name"]) for each in lines]


@pytest.mark.parametrize("function", ["", "&hashFunction=crc32", "&hashFunction=fnv1a"])
def test_each_object_is_in_one_part(send: Send, function: str) -> None:
    known = store(send)
    found = [names_of(listed(send, part(index) + function)) for index in range(3)]
    assert all(found)
    assert sorted(each for names in found for each in names) == known


def test_objects_without_the_label_are_divided_by_namespace(send: Send) -> None:
    known = store(send)
    found = [names_of(listed(send, part(index, 4, "absent"))) for index in range(4)]
    assert sorted(found) == [[], [], [], known]


def test_cluster_scoped_objects_are_divided_by_name(send: Send) -> None:
    for number in range(8):
        send("POST", "/api/v1/namespaces", {"metadata": {"name": f"team-{number}"}})
    everything = names_of(send("GET", "/api/v1/namespaces"))
    parts = [
        listed(send, f"shardingCount=2&shardingIndex={x}", "/api/v1/namespaces") for x in (0, 1)
    ]
    found = [names_of(each) for each in parts]
    assert all(found)
    assert sorted(each for names in found for each in names) == sorted(everything)


def test_pages_of_a_part_have_its_objects_only(send: Send) -> None:
    store(send)
    first = listed(send, f"{part(1)}&limit=2").item
    token = first["metadata"]["continue"]
    assert "remainingItemCount" not in first["metadata"]
    rest = listed(send, f"{part(1)}&continue={token}")
    names = [each["metadata"]["name"] for each in [*first["items"], *rest.item["items"]]]
    assert names == names_of(listed(send, part(1)))


def test_a_part_and_a_label_selector_select_together(send: Send) -> None:
    store(send)
    chosen = names_of(listed(send, part(0)))[0]
    tier = f"t{int(chosen[1:])}"
    found = [names_of(listed(send, f"{part(x)}&labelSelector=tier%3D{tier}")) for x in (0, 1)]
    assert found == [[chosen], []]


def test_a_watch_yields_the_events_of_its_part(send: Send, server: ApiServer) -> None:
    stream = watched(server, send, part(0))
    store(send)
    assert events(stream) == [("ADDED", name) for name in names_of(listed(send, part(0)))]


def test_an_object_whose_label_changes_leaves_one_watch_and_enters_another(
    send: Send, server: ApiServer
) -> None:
    store(send)
    name, other = names_of(listed(send, part(0)))[0], names_of(listed(send, part(1)))[0]
    old, new = watched(server, send, part(0)), watched(server, send, part(1))
    relabel(send, name, f"t{int(other[1:])}")
    assert (events(old), events(new)) == ([("DELETED", name)], [("ADDED", name)])


def test_a_watch_from_the_beginning_starts_with_its_part(send: Send, server: ApiServer) -> None:
    store(send)
    stream = server.handle(ApiRequest("GET", f"{MAPS}?watch=1&{part(2)}"))
    assert isinstance(stream, ApiStream)
    assert events(stream) == [("ADDED", name) for name in names_of(listed(send, part(2)))]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("shardingCount=2", "shardingIndex: Required value: shardingCount needs it"),
        ("shardingIndex=0", "shardingCount: Required value: shardingIndex needs it"),
        ("hashFunction=crc32", "shardingCount: Required value: hashFunction needs it"),
        (
            "shardingCount=x&shardingIndex=0",
            'shardingCount: Invalid value: "x": must be an integer',
        ),
        ("shardingCount=0&shardingIndex=0", "must be an integer from 1 to 65536"),
        (
            "shardingCount=2&shardingIndex=2",
            'shardingIndex: Invalid value: "2": must be an integer',
        ),
        ("shardingCount=2&shardingIndex=-1", "must be an integer from 0 to 1"),
        (part(0, 2, "a/b/c"), 'shardingLabelKey: Invalid value: "a/b/c": '),
        (
            f"{part(0)}&hashFunction=md5",
            'Unsupported value: "md5": supported values: "crc32", "fnv1a"',
        ),
    ],
)
@pytest.mark.parametrize("watch", ["", "&watch=1"])
def test_a_bad_option_is_refused(send: Send, query: str, problem: str, watch: str) -> None:
    answer = listed(send, query + watch)
    assert answer.status == 400
    assert problem in answer.message


def test_custom_objects_are_divided_as_well(send: Send) -> None:
    forms = {"plural": "gates", "singular": "gate", "kind": "Gate", "listKind": "GateList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}  # fmt: skip
    spec = {"group": "e.org", "names": forms, "scope": "Namespaced", "versions": [version]}
    send("POST", CRDS, {"metadata": {"name": "gates.e.org"}, "spec": spec})
    gates = "/apis/e.org/v1/namespaces/default/gates"
    for number in range(9):
        body = {"metadata": {"name": f"g{number}", "labels": {"tier": f"t{number}"}}}
        send("POST", gates, {"apiVersion": "e.org/v1", "kind": "Gate", **body})
    found = [names_of(listed(send, part(index), gates)) for index in range(3)]
    assert sorted(each for shown in found for each in shown) == [f"g{n}" for n in range(9)]
