"""Converters of definitions: what they are sent, what they may answer, and whom they affect."""

import json
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from stretto.web.api.server import ApiServer
from tests.unit.web.api.converters import DEFINITIONS, Converting, Spoil, normal

RECORDED = [
    json.loads(line)
    for line in Path(__file__).with_name("conversion.jsonl").read_text().splitlines()
]
"""Exchanges with kube-apiserver 1.36.3, whose converter has the same rules."""
HEAD = "conversion webhook for example.org/v1, Kind=Gate "
INVALID = HEAD + "returned invalid object at index 0: "
MEMBER = "ConversionResponse.response.convertedObjects of type []runtime.RawExtension"
METADATA = HEAD + "returned invalid metadata: "


@pytest.fixture
def gates(server: ApiServer) -> Converting:
    return Converting(server, "example.org")


def _put(site: Converting, exchange: Any) -> Any:
    """The body of a recorded request, with the version of the object that it replaces."""
    _, path, _, body = exchange["request"]
    if '"RV"' in json.dumps(body):
        shown = site.send("GET", path.partition("?")[0].removesuffix("/status"))
        body["metadata"]["resourceVersion"] = shown.item["metadata"]["resourceVersion"]
    if exchange["name"] == "change storage":
        versions = site.send("GET", path).item["spec"]["versions"]
        body["spec"]["versions"] = [{**each, "storage": not each["storage"]} for each in versions]
    return body


@pytest.mark.parametrize("session", ["good", "clean"])
def test_recorded_answers_of_kube_apiserver(server: ApiServer, session: str) -> None:
    site = Converting(server, f"{session}.example.org", defaults=session == "good")
    for each in [each for each in RECORDED if each["session"] == session]:
        method, path, media, _ = each["request"]
        media = media.removeprefix("application/")
        answer = site.send(method, path, _put(site, each), media)
        server.tick()
        if answer.item.get("kind") == "CustomResourceDefinition":
            stored = answer.item["status"]["storedVersions"]
            answer = type(answer)(answer.status, {"status": {"storedVersions": stored}}, [])
        found = (each["name"], answer.status, normal(answer.item))
        assert found == (each["name"], each["status"], normal(each["answer"]))


def result(**stated: Any) -> Spoil:
    def spoil(answer: Any, _: Any) -> None:
        answer["response"]["result"] = stated

    return spoil


def response(**stated: Any) -> Spoil:
    return lambda answer, _: answer["response"].update(stated)


def objects(**stated: Any) -> Spoil:
    return lambda _, items: [each.update(stated) for each in items] and None


def metadata(**stated: Any) -> Spoil:
    return lambda _, items: [each["metadata"].update(stated) for each in items] and None


def review(**stated: Any) -> Spoil:
    return lambda answer, _: answer.update(stated)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (result(status="Failure", message="no gate"), f"{HEAD}failed: no gate"),
        (result(), f"{HEAD}failed: response.result.status was '', not 'Success'"),
        (response(convertedObjects=[]), f"{HEAD}returned 0 objects, expected 1"),
        (response(convertedObjects=["x"]), "json: cannot unmarshal string into Go value of type"),
        (response(convertedObjects=[None]), "unexpected end of JSON input"),
        (
            response(convertedObjects={}),
            f"{HEAD}failed: json: cannot unmarshal object into Go struct field {MEMBER}",
        ),
        (response(uid="x"), 'got "x"'),
        (review(response=None), f"{HEAD}failed: no response provided"),
        (review(kind="Review"), f'{HEAD}failed: no kind "Review" is registered for version'),
        (
            review(apiVersion="apiextensions.k8s.io/v1beta1"),
            "converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion",
        ),
        (
            objects(apiVersion="x/v9"),
            f"{INVALID}invalid groupVersion (expected example.org/v1beta1, received x/v9)",
        ),
        (objects(kind="Door"), "invalid kind (expected Gate, received Door)"),
        (objects(metadata="x"), f"{HEAD}returned invalid object: must have the same name: a != "),
        (metadata(name="b"), "must have the same name: a != b"),
        (metadata(namespace="b"), "must have the same namespace: default != b"),
        (metadata(uid="b"), "must have the same UID: "),
        (metadata(labels="x"), f"{METADATA}invalid metadata.labels of type string in converted"),
        (
            metadata(labels={"a": 1}),
            f"{METADATA}metadata.labels[a] must be a string, but is int64 in converted object",
        ),
        (metadata(annotations={"a b": ""}), f'{METADATA}metadata.annotation: Invalid value: "a b"'),
    ],
)
def test_bad_answers_fail_in_the_words_of_kube_apiserver(
    gates: Converting, spoil: Spoil, message: str
) -> None:
    gates.send("POST", gates.new, gates.gate("v1", host="h"))
    gates.spoil = spoil
    answer = gates.send("GET", f"{gates.old}/a")
    assert answer.status == 500
    assert message in answer.message


def test_a_converter_changes_labels_and_annotations_only(gates: Converting) -> None:
    gates.send("POST", gates.new, gates.gate("v1", host="h"))
    gates.spoil = metadata(
        labels={"l": "x"}, annotations={"n": "y"}, generation=7, finalizers=["f"]
    )
    shown = gates.send("GET", f"{gates.old}/a").item["metadata"]
    assert (shown["labels"], shown["annotations"], shown["generation"]) == (
        {"l": "x"},
        {"n": "y"},
        1,
    )
    assert "finalizers" not in shown


def test_a_list_is_one_review(gates: Converting) -> None:
    for name in ("a", "b", "c"):
        gates.send("POST", gates.new, gates.gate("v1", name, host=name))
    assert gates.reviews == []
    items = gates.send("GET", gates.old).item["items"]
    assert [each["spec"] for each in items] == [{"hostPort": name} for name in ("a", "b", "c")]
    assert [len(each["objects"]) for each in gates.reviews] == [3]


def test_a_review_has_objects_as_they_are_stored(gates: Converting) -> None:
    gates.send("POST", gates.new, gates.gate("v1", host="h"))
    uid = gates.send("GET", f"{gates.old}/a").item["metadata"]["uid"]
    request = gates.reviews[0]
    assert request["desiredAPIVersion"] == "example.org/v1beta1"
    assert request["objects"][0]["metadata"]["uid"] == uid
    assert "resourceVersion" not in request["objects"][0]["metadata"]


def test_the_order_of_members_does_not_repeat_a_conversion(gates: Converting) -> None:
    whole = gates.gate("v1beta1", size=3, hostPort="h:1", color="red")
    body = {"spec": dict(reversed(whole.pop("spec").items())), **dict(reversed(whole.items()))}
    assert gates.send("POST", gates.old, body).status == 201
    assert len(gates.reviews) == 2
    shown = gates.send("GET", f"{gates.old}/a").item
    changed = {**dict(reversed(shown.items())), "spec": {"size": 4, "hostPort": "h:2"}}
    assert gates.send("PUT", f"{gates.old}/a", changed).status == 200


def test_a_failing_converter_stores_nothing(gates: Converting) -> None:
    gates.spoil = result(status="Failure", message="no")
    assert gates.send("POST", gates.old, gates.gate("v1beta1", hostPort="h")).status == 500
    assert gates.send("GET", gates.new).item["items"] == []


def test_a_failing_converter_keeps_an_object_from_its_deletion(gates: Converting) -> None:
    gates.send("POST", gates.new, gates.gate("v1", host="h"))
    gates.spoil = result(status="Failure", message="no")
    assert gates.send("DELETE", f"{gates.old}/a").status == 500
    assert gates.send("DELETE", f"{gates.new}/a").status == 200


def test_labels_of_the_converter_are_selected(gates: Converting) -> None:
    gates.send("POST", gates.new, gates.gate("v1", host="h"))
    gates.spoil = metadata(labels={"l": "x"})
    assert len(gates.send("GET", f"{gates.old}?labelSelector=l%3Dx").item["items"]) == 1
    assert gates.send("GET", f"{gates.new}?labelSelector=l%3Dx").item["items"] == []


def test_a_watch_shows_converted_objects(gates: Converting) -> None:
    events = gates.watch(gates.old)
    assert next(events) is None
    gates.send("POST", gates.new, gates.gate("v1", host="h", port="1"))
    event = next(events)
    assert event is not None
    assert (event["type"], event["object"]["spec"]) == ("ADDED", {"hostPort": "h:1"})


def test_two_watches_share_a_conversion(gates: Converting) -> None:
    watches = [gates.watch(gates.old), gates.watch(gates.old)]
    assert [next(each) for each in watches] == [None, None]
    gates.send("POST", gates.new, gates.gate("v1", host="h"))
    assert all(next(each) for each in watches)
    assert len(gates.reviews) == 1


def test_a_watch_selects_by_the_fields_of_its_version(gates: Converting) -> None:
    gates.send("POST", gates.new, gates.gate("v1", host="h"))
    events = gates.watch(f"{gates.old}?fieldSelector=spec.hostPort%3Dh")
    for host in ("i", "h", "j"):
        change = {"spec": {"host": host}}
        gates.send("PATCH", f"{gates.new}/a", change, "merge-patch+json")
    shown = [each["type"] for each in takewhile(bool, events)]
    assert shown == ["ADDED", "DELETED", "ADDED", "DELETED"]


def test_a_failing_converter_ends_the_watches_of_its_version_only(gates: Converting) -> None:
    broken, sound = gates.watch(gates.old), gates.watch(gates.new)
    assert [next(broken), next(sound)] == [None, None]
    gates.spoil = result(status="Failure", message="no")
    gates.send("POST", gates.new, gates.gate("v1", host="h"))
    events = [each for each in broken if each]
    assert [(each["type"], each["object"]["message"]) for each in events] == [
        ("ERROR", f"{HEAD}failed: no")
    ]
    assert (next(sound) or {})["type"] == "ADDED"


def test_a_watch_ends_when_its_definition_changes(gates: Converting, server: ApiServer) -> None:
    events = gates.watch(gates.old)
    assert next(events) is None
    hook = {"clientConfig": {"url": "https://hooks.test/new"}, "conversionReviewVersions": ["v1"]}
    change = {"spec": {"conversion": {"webhook": hook}}}
    gates.send("PATCH", f"{DEFINITIONS}/gates.example.org", change, "merge-patch+json")
    server.tick()
    assert list(events) == []


def test_the_storage_version_counts_for_new_writes(gates: Converting, server: ApiServer) -> None:
    path = f"{DEFINITIONS}/gates.example.org"
    versions = gates.send("GET", path).item["spec"]["versions"]
    swapped = [{**each, "storage": not each["storage"]} for each in versions]
    gates.send("PATCH", path, {"spec": {"versions": swapped}}, "merge-patch+json")
    server.tick()
    gates.send("POST", gates.old, gates.gate("v1beta1", hostPort="h"))
    assert gates.reviews == []
