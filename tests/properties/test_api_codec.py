"""Encoding and decoding are inverse; unknown members are kept."""

import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stretto.api import codec
from stretto.api.edit.manifests import load_manifests
from stretto.api.edit.yaml_text import dump_document, load_documents
from stretto.api.kinds.table import all_kinds
from stretto.api.wire import kinds
from stretto.base.errors import InputError, StrettoError

NAMES = st.text(st.characters(codec="utf-8"), max_size=8)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    NAMES,
    st.sampled_from(["y", "1e3", "0x1", "~", "null", "- a", "a: b", "#", "x\n", "|", "\u2028", ""]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=5)


def encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


@given(VALUES)
def test_yaml_reads_back_what_it_wrote(value: Any) -> None:
    found = list(load_documents(dump_document({"value": value}), "x"))
    assert [each for _, each in found] == [{"value": value}]


@given(DOCUMENTS)
def test_a_manifest_survives_yaml(document: dict[str, Any]) -> None:
    stated = {**codec.without_nulls(document), "apiVersion": "v1", "kind": "ConfigMap"}
    (manifest,) = load_manifests(dump_document(stated), "x")
    assert manifest.kind is kinds.CONFIG_MAP
    assert json.loads(manifest.body) == stated


@given(DOCUMENTS, st.lists(NAMES, min_size=1, max_size=3), SCALARS.filter(lambda x: x is not None))
def test_setting_a_field_sets_it_and_nothing_else(
    document: dict[str, Any], path: list[str], value: Any
) -> None:
    expected = json.loads(json.dumps(document))
    with suppress(InputError):
        found = json.loads(codec.set_fields(encoded(document), {tuple(path): value}))
        holder = expected
        for name in path[:-1]:
            holder[name] = holder[name] if holder.get(name) is not None else {}
            holder = holder[name]
        holder[path[-1]] = value
        assert found == expected


@given(DOCUMENTS, st.sampled_from([kinds.POD, kinds.NODE, kinds.POD_GROUP, kinds.QUEUE]))
def test_unknown_fields_never_hinder_reading(document: dict[str, Any], kind: kinds.Kind) -> None:
    known = {"metadata": {"name": "a"}, "spec": {"minMember": 1}}
    body = encoded({**{f"x-{name}": each for name, each in document.items()}, **known})
    assert codec.encode(codec.decode(kind, body)) == codec.encode(
        codec.decode(kind, encoded(known))
    )


@given(st.binary(max_size=60) | NAMES.map(str.encode))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    for kind in (kinds.POD, kinds.NODE):
        with suppress(InputError):
            codec.decode(kind, body)
    with suppress(StrettoError):
        load_manifests(body, "x")


@given(DOCUMENTS, st.sampled_from(["metadata", "spec", "status"]))
def test_any_json_object_is_read_or_refused(document: dict[str, Any], part: str) -> None:
    for kind in all_kinds():
        with suppress(InputError):
            codec.decode(kind, encoded({"metadata": {}, part: document}))
