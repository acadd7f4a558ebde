"""Writes of Gödel's own components to an API server: `../shared/data/godel_wire`."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.json import decode, encode

from stretto.api import codec
from stretto.api.edit.strategic import strategic_merge
from stretto.api.kinds.table import kind_named, kind_of
from stretto.api.schema.kubernetes import struct
from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind

#: What scheduling never reads; it stays in the raw bytes.
UNREAD = {
    "daemonEndpoints", "dnsPolicy", "enableServiceLinks", "imagePullPolicy", "nodeInfo",
    "qosClass", "terminationMessagePath", "terminationMessagePolicy",
}  # fmt: skip

STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture(scope="module")
def traces(shared_data: Path) -> list[dict[str, Any]]:
    with gzip.open(shared_data / "godel_wire" / "traces.jsonl.gz") as lines:
        return [decode(line) for line in lines]


def written(traces: list[dict[str, Any]]) -> Iterator[tuple[Kind, dict[str, Any]]]:
    """Every whole object that was put or written, with its kind."""
    for trace in traces:
        for each in trace["objects"]:
            yield kind_of(each["apiVersion"], each["kind"]), each
        for step in trace["steps"]:
            if step["verb"] in ("create", "update") and step.get("body"):
                binding = step.get("subresource") == "binding"
                yield kinds.BINDING if binding else kind_named(step["resource"]), step["body"]


def significant(value: Any) -> Any:
    """A document without empty values and without what scheduling never reads."""
    if isinstance(value, list):
        return [significant(each) for each in value]
    if not isinstance(value, dict):
        return value
    members = {name: significant(each) for name, each in value.items() if name not in UNREAD}
    return {name: each for name, each in members.items() if each}


def annotations_after(trace: dict[str, Any]) -> dict[str, dict[str, str]]:
    """The annotations of each pod after all recorded creates and strategic patches."""
    pods: dict[str, Any] = {}
    for step in trace["steps"]:
        if step["resource"] == "pods" and step["code"] < 300:
            name = step["name"] or step["body"]["metadata"]["name"]
            if step["verb"] == "create" and not step.get("subresource"):
                pods[name] = step["body"]
            elif step.get("content_type") == STRATEGIC:
                pods[name] = strategic_merge(pods[name], step["body"], struct("core/v1.Pod"))
    return {name: pod["metadata"].get("annotations", {}) for name, pod in pods.items()}


def test_every_field_that_godel_writes_is_read(traces: list[dict[str, Any]]) -> None:
    for kind, document in written(traces):
        again = decode(codec.encode(codec.decode(kind, encode(document))))
        stated = {"apiVersion": kind.api_version, "kind": kind.kind, **document}
        assert significant(again) == significant(stated), document


def is_complete(trace: dict[str, Any]) -> bool:
    """Return whether all changes of pods were recorded, as strategic patches."""
    return not any(
        step.get("omitted_repeats")
        or (
            (step["resource"] == "pods" and step["verb"] in ("update", "patch"))
            and step["content_type"] != STRATEGIC
        )
        for step in trace["steps"]
    )


def test_godels_patches_end_where_the_real_api_server_ended(traces: list[dict[str, Any]]) -> None:
    for trace in filter(is_complete, traces):
        ours = annotations_after(trace)
        for pod in trace["final"]:
            if pod["name"] in ours:
                assert ours[pod["name"]] == pod.get("annotations", {}), trace["id"]
