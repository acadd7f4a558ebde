"""The kinds as installed are the kinds that we read: field by field, default by default."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from msgspec import inspect

from stretto.api.codec import struct_of
from stretto.api.kinds.table import custom_kinds, entry_of
from stretto.api.types.godel import QueueSpec
from stretto.api.wire.kinds import POD_GROUP, QUEUE, VERTICAL_CHECKPOINT, Kind
from stretto.api.wire.meta import ObjectMeta
from stretto.control.queues.config import DispatcherConfig

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "deploy" / "crds"
OURS = custom_kinds()
UNREAD = {("Scheduler", "spec")}
"""Fields on the wire without a reader: Gödel's shards write an empty one."""

by_kind = pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.kind)


@cache
def definition(kind: Kind) -> dict[str, Any]:
    """The file of a kind."""
    text = (FOLDER / f"{kind.plural}.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def schema(kind: Kind) -> dict[str, Any]:
    """The schema of a whole object."""
    found: dict[str, Any] = definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def parts(about: inspect.Type) -> Iterator[inspect.StructType]:
    """The structs that a type is made of, behind lists, maps and alternatives."""
    if isinstance(about, inspect.StructType):
        yield about
    elif isinstance(about, inspect.UnionType):
        for each in about.types:
            yield from parts(each)
    elif isinstance(about, inspect.VarTupleType):
        yield from parts(about.item_type)
    elif isinstance(about, inspect.DictType):
        yield from parts(about.value_type)


def below(found: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object, behind lists and maps."""
    while "properties" not in found:
        inner = found.get("items") or found.get("additionalProperties")
        if inner is None:
            return found
        found = inner
    return found


def differences(struct: type, found: dict[str, Any], path: str) -> Iterator[str]:
    """Fields of a struct that its schema lacks, and the other way round."""
    about = inspect.type_info(struct)
    assert isinstance(about, inspect.StructType)
    fields = {each.encode_name: each for each in about.fields}
    known = set(found["properties"]) - ({"apiVersion", "kind"} - set(fields))
    for name in known ^ set(fields):
        if (path, name) not in UNREAD:
            yield f"{path}.{name} is {'not read' if name in known else 'not in the schema'}"
    if set(found.get("required", ())) | {"metadata"} != {
        *(each.encode_name for each in about.fields if each.required),
        "metadata",
    }:
        yield f"{path}: required"
    for name in known & set(fields):
        for part in parts(fields[name].type):
            inner = below(found["properties"][name])
            if part.cls is not ObjectMeta and "properties" in inner:
                yield from differences(part.cls, inner, f"{path}.{name}")


@by_kind
def test_every_field_of_the_struct_is_in_the_schema_and_the_other_way_round(kind: Kind) -> None:
    assert list(differences(struct_of(kind), schema(kind), kind.kind)) == []


def test_a_difference_would_be_found() -> None:
    class Small(msgspec.Struct):
        here: str
        gone: int = 0

    found = {"properties": {"here": {}, "more": {}}, "required": ["here"]}
    assert sorted(differences(Small, found, "Small")) == [
        "Small.gone is not in the schema",
        "Small.more is not read",
    ]


def test_the_files_are_what_the_script_makes() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "crds.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"run `make crds`: {done.stdout}{done.stderr}"


def test_every_kind_of_stretto_has_a_file_and_no_other_has() -> None:
    assert {each.stem for each in FOLDER.glob("*.yaml")} == {kind.plural for kind in OURS}


@by_kind
def test_a_definition_states_how_the_kind_is_named(kind: Kind) -> None:
    spec = definition(kind)["spec"]
    assert definition(kind)["metadata"]["name"] == kind.resource
    assert (spec["group"], spec["names"]["kind"]) == (kind.group, kind.kind)
    assert (spec["scope"] == "Namespaced") is kind.namespaced


@by_kind
def test_one_version_is_served_and_stored_with_a_status_of_its_own(kind: Kind) -> None:
    (version,) = definition(kind)["spec"]["versions"]
    assert (version["name"], version["served"], version["storage"]) == (kind.version, True, True)
    wanted = set() if kind == VERTICAL_CHECKPOINT else {"status"}
    assert version.get("subresources", {}).keys() == set(entry_of(kind).subresources) >= wanted


@by_kind
def test_every_column_shows_a_field_that_is_there(kind: Kind) -> None:
    for column in definition(kind)["spec"]["versions"][0].get("additionalPrinterColumns", []):
        if column["name"] == "Age":
            continue
        found = schema(kind)
        path = re.sub(r"\[[^]]*\]", "", column["jsonPath"])
        for step in path.lstrip(".").split("."):
            found = below(found)
            if "properties" not in found:
                break  # a map with free keys
            assert step in found["properties"], column["jsonPath"]
            found = found["properties"][step]


@by_kind
def test_every_field_has_a_sentence(kind: Kind) -> None:
    def silent(found: dict[str, Any], path: str) -> Iterator[str]:
        for name, each in below(found).get("properties", {}).items():
            if name not in ("apiVersion", "kind", "metadata"):
                yield from () if each.get("description") else (f"{path}.{name}",)
                yield from silent(each, f"{path}.{name}")

    assert list(silent(schema(kind), kind.kind)) == []


def test_a_queue_gets_the_defaults_of_its_struct() -> None:
    properties = schema(QUEUE)["properties"]["spec"]["properties"]
    said = {name: each["default"] for name, each in properties.items() if "default" in each}
    read = {field.encode_name: field.default for field in msgspec.structs.fields(QueueSpec)}
    assert set(said) == {"policy", "weight", "resource"}
    assert said == {name: read[name] for name in said}


def test_a_group_gets_the_time_that_the_dispatcher_gives_it() -> None:
    spec = schema(POD_GROUP)["properties"]["spec"]["properties"]
    assert spec["scheduleTimeoutSeconds"]["default"] == DispatcherConfig().schedule_timeout


@by_kind
def test_every_rule_states_in_a_sentence_what_is_wrong(kind: Kind) -> None:
    text = (FOLDER / f"{kind.plural}.yaml").read_text(encoding="utf-8")
    rules = len(re.findall(r"^ *- rule:", text, re.MULTILINE))
    assert len(re.findall(r"^ *message: ", text, re.MULTILINE)) >= rules
