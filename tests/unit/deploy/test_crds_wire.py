"""Objects of Gödel's own components pass the schemas unchanged: `../shared/data/godel_wire`."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.json import decode

FOLDER = Path(__file__).resolve().parents[3] / "deploy" / "crds"
TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
OPEN = "x-kubernetes-preserve-unknown-fields"


def schemas() -> dict[str, dict[str, Any]]:
    """Every schema by its kind's name."""
    found = {}
    for path in FOLDER.glob("*.yaml"):
        spec = yaml.safe_load(path.read_text(encoding="utf-8"))["spec"]
        found[spec["names"]["kind"]] = spec["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def complaints(value: Any, schema: dict[str, Any], path: str) -> Iterator[str]:
    """Return what an API server would refuse or drop, except metadata."""
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        missing = [name for name in schema.get("required", ()) if name not in value]
        yield from (f"{path}.{name} is missing" for name in missing)
        for name, each in value.items():
            if name == "metadata":
                continue
            if name in known or others:
                yield from complaints(each, known.get(name, others), f"{path}.{name}")
            elif OPEN not in schema:
                yield f"{path}.{name} is dropped"
    elif isinstance(value, list):
        for each in value:
            yield from complaints(each, schema.get("items", {}), f"{path}[]")
    elif value is not None and not fits(value, schema):
        yield f"{path} is {value!r}"


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Return whether a plain value is of the type and among the words."""
    types = TYPES.get(schema.get("type", ""), object)
    return isinstance(value, types) and value in schema.get("enum", [value])


@pytest.fixture(scope="module")
def written(shared_data: Path) -> list[dict[str, Any]]:
    """Every whole object of ours that was put or written."""
    found: list[dict[str, Any]] = []
    with gzip.open(shared_data / "godel_wire" / "traces.jsonl.gz") as lines:
        for trace in map(decode, lines):
            bodies = [s["body"] for s in trace["steps"] if s["verb"] in ("create", "update")]
            found += [*trace["objects"], *(body for body in bodies if isinstance(body, dict))]
    return [each for each in found if ".kubewharf.io/" in each.get("apiVersion", "")]


OURS_ALONE = {
    "Queue",
    "NodeOvercommitConfig",
    "ScalingPolicy",
    "TideNodePool",
    "VerticalPodAutoscaler",
    "VerticalPodAutoscalerCheckpoint",
}
"""Kinds with a CRD that no daemon of Gödel writes."""


def test_nothing_that_godel_writes_is_refused_or_dropped(written: list[dict[str, Any]]) -> None:
    known = schemas()
    found = [c for each in written for c in complaints(each, known[each["kind"]], each["kind"])]
    assert {each["kind"] for each in written} == set(known) - OURS_ALONE
    assert found == []


def test_what_would_be_refused_or_dropped_is_found() -> None:
    group = {"kind": "PodGroup", "spec": {"minMembers": 3, "scheduleTimeoutSeconds": "300"}}
    assert set(complaints(group, schemas()["PodGroup"], "PodGroup")) == {
        "PodGroup.spec.minMember is missing",
        "PodGroup.spec.minMembers is dropped",
        "PodGroup.spec.scheduleTimeoutSeconds is '300'",
    }
