"""Real objects, and what kube-scheduler itself decides of them: `../shared/data/kube_parity`."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.json import decode, encode

from stretto.api import codec
from stretto.api.kinds.table import kind_of
from stretto.api.types import effective_requests
from stretto.api.types.core import Node
from stretto.api.types.pod import Pod
from stretto.api.validation import validate
from stretto.api.wire import kinds, quantity, selectors

#: Fields omitted at Go's zero value, or irrelevant to scheduling.
UNREAD = {"clusterIP", "clusterIPs", "ports"}


@pytest.fixture(scope="module")
def cases(shared_data: Path) -> list[dict[str, Any]]:
    with gzip.open(shared_data / "kube_parity" / "cases.jsonl.gz") as lines:
        return [decode(line) for line in lines]


def objects(case: dict[str, Any]) -> Iterator[tuple[kinds.Kind, dict[str, Any]]]:
    """All objects of a case with their kinds; nodes and pods do not state theirs."""
    yield from ((kinds.NODE, each) for each in case["nodes"])
    yield from ((kinds.POD, each) for each in (*case["pods"], case["pod"]))
    for each in case.get("objects", ()):
        yield kind_of(each["apiVersion"], each["kind"]), each


def significant(value: Any, kind: str = "") -> Any:
    """A document without zero values and, for services, without what scheduling never reads."""
    if isinstance(value, list):
        return [significant(each) for each in value]
    if not isinstance(value, dict):
        return value
    unread = UNREAD if kind == "Service" else ()
    members = ((name, significant(each, kind)) for name, each in value.items())
    return {
        name: each
        for name, each in members
        if name not in unread and not (each == 0 and each is not None)
    }


def reasons(case: dict[str, Any], node: str, plugin: str) -> set[str]:
    """Why a filter refused a node; empty where it did not."""
    verdict = case["expect"].get("filter", {}).get(node, {}).get(plugin, {})
    return set(verdict.get("reasons", ()))


def judged(cases: list[dict[str, Any]], plugin: str) -> Iterator[tuple[dict[str, Any], Pod]]:
    """The cases in which a filter ran, each with its pod."""
    for case in cases:
        before = case["expect"].get("prefilter", {}).get(plugin, {})
        if "preenqueue" not in case["expect"] and "code" not in before:
            yield case, codec.decode_as(Pod, encode(case["pod"]))


def node_of(document: dict[str, Any]) -> Node:
    return codec.decode_as(Node, encode(document))


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_every_recorded_object_is_read_and_written_without_loss(
    cases: list[dict[str, Any]], every: int
) -> None:
    for case in cases[::every]:
        for kind, document in objects(case):
            written = decode(codec.encode(codec.decode(kind, encode(document))))
            stated = {"apiVersion": kind.api_version, "kind": kind.kind, **document}
            assert significant(written) == significant(stated, kind.kind), case["id"]


def test_what_an_api_server_let_in_is_let_in(cases: list[dict[str, Any]]) -> None:
    for case in cases[::4]:
        for kind, document in objects(case):
            validate(codec.decode(kind, encode(document)))


def test_setting_a_field_of_a_recorded_object_keeps_all_its_others(
    cases: list[dict[str, Any]],
) -> None:
    for case in cases[::4]:
        for _, document in objects(case):
            body = codec.set_fields(encode(document), {("new", "field"): 1})
            assert decode(body) == {**document, "new": {"field": 1}}


def test_requests_explain_every_insufficient_resource(cases: list[dict[str, Any]]) -> None:
    for case, pod in judged(cases, "NodeResourcesFit"):
        used: dict[str, dict[str, int]] = {}
        for each in case["pods"]:
            running = codec.decode_as(Pod, encode(each))
            on_node = used.setdefault(running.spec.node_name, {})
            for name, amount in {"pods": 1, **effective_requests.running_requests(running)}.items():
                on_node[name] = on_node.get(name, 0) + amount
        wanted = effective_requests.requests(pod.spec)
        for node in map(node_of, case["nodes"]):
            lacking = _lacking(node, wanted, used.get(node.metadata.name, {}))
            assert lacking == reasons(case, node.metadata.name, "NodeResourcesFit"), case["id"]


def _lacking(node: Node, wanted: dict[str, int], used: dict[str, int]) -> set[str]:
    """Why a pod does not fit, in the words of the fit filter."""
    has = quantity.amounts(node.status.allocatable, "status.allocatable")
    lacking = {
        f"Insufficient {name}"
        for name, amount in wanted.items()
        if amount and amount > has.get(name, 0) - used.get(name, 0)
    }
    full = used.get("pods", 0) + 1 > has.get("pods", 0)
    return lacking | ({"Too many pods"} if full else set())


def test_selectors_explain_every_node_that_does_not_match(cases: list[dict[str, Any]]) -> None:
    for case, pod in judged(cases, "NodeAffinity"):
        affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
        required = affinity.required if affinity else None
        terms = selectors.node_terms(required, "required")
        for node in map(node_of, case["nodes"]):
            name, labels = node.metadata.name, node.metadata.labels
            meets = pod.spec.node_selector.items() <= labels.items() and (
                required is None or any(term.matches(name, labels) for term in terms)
            )
            assert meets is not bool(reasons(case, name, "NodeAffinity")), case["id"]


def test_host_ports_explain_every_node_without_free_ports(cases: list[dict[str, Any]]) -> None:
    for case, pod in judged(cases, "NodePorts"):
        wanted = effective_requests.host_ports(pod.spec)
        taken: dict[str, list[effective_requests.HostPort]] = {}
        for each in case["pods"] if wanted else ():
            running = codec.decode_as(Pod, encode(each)).spec
            taken.setdefault(running.node_name, []).extend(effective_requests.host_ports(running))
        for document in case["nodes"]:
            name = document["metadata"]["name"]
            clash = any(one.conflicts(two) for one in wanted for two in taken.get(name, ()))
            assert clash is bool(reasons(case, name, "NodePorts")), case["id"]
