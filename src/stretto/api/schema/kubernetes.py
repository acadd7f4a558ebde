"""The types and resources of Kubernetes 1.36, from the data files next to this module.

``scripts/kube_schema`` derives the large file from the Go types and from a server's OpenAPI
documents. The small files contain types of responses, and the types of metrics.k8s.io, which a
separate server serves. Structs are built on first use.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import chain
from typing import Any, Final

import msgspec

from stretto.api.schema.types import RAW, FieldType, Form, Merge, StructType, Union, ValueType

_DATA: Final = ("data/kubernetes.jsonl", "data/machinery.jsonl", "data/metrics.jsonl")
_FORMS: Final = {form.value: form for form in Form} | {
    "raw": Form.ANY,
    "json": Form.ANY,
    "fields": Form.ANY,
    "uint8": Form.INT32,
}

Json = dict[str, Any]


class SubresourceFacts(msgspec.Struct, frozen=True):
    """A subresource of a resource."""

    #: Group, version and kind of its objects; empty parts equal those of the resource.
    kind: tuple[str, str, str]
    #: Verbs.
    verbs: tuple[str, ...]


class ResourceFacts(msgspec.Struct, frozen=True):
    """Facts about a resource in API discovery."""

    #: Verbs.
    verbs: tuple[str, ...]
    #: Name in the singular.
    singular: str = ""
    #: Short names.
    short: tuple[str, ...] = ()
    #: Categories.
    categories: tuple[str, ...] = ()
    #: True if its objects live in a namespace.
    namespaced: bool = False
    #: Subresources by name.
    subresources: Mapping[str, SubresourceFacts] = {}


@dataclass(frozen=True)
class KubernetesResource:
    """A resource of Kubernetes, in the order of discovery."""

    #: API group.
    group: str
    #: Version.
    version: str
    #: Name in paths.
    resource: str
    #: Kind of its objects.
    kind: str
    #: Facts in API discovery.
    facts: ResourceFacts


@dataclass(frozen=True)
class _Data:
    """The contents of the data files."""

    #: Fields by type.
    types: Mapping[str, list[list[Any]]]
    #: Type by group, version and kind.
    kinds: Mapping[tuple[str, str, str], str]
    #: Resources in order.
    resources: tuple[KubernetesResource, ...]


@cache
def _data() -> _Data:
    types: dict[str, list[list[Any]]] = {}
    kinds: dict[tuple[str, str, str], str] = {}
    found: list[KubernetesResource] = []
    folder = resources.files("stretto.api.schema")
    texts = (folder.joinpath(each).read_bytes() for each in _DATA)
    for line in chain.from_iterable(text.splitlines() for text in texts):
        word, *parts = msgspec.json.decode(line)
        if word == "type":
            types[parts[0]] = parts[1]
        elif word == "kind":
            kinds[parts[0], parts[1], parts[2]] = parts[3]
        else:
            facts = msgspec.convert(parts[4], ResourceFacts)
            found.append(KubernetesResource(parts[0], parts[1], parts[2], parts[3], facts))
    return _Data(types, kinds, tuple(found))


def kubernetes_resources() -> tuple[KubernetesResource, ...]:
    """Every resource, in the order of discovery."""
    return _data().resources


def struct_of_kind(group: str, version: str, kind: str) -> StructType | None:
    """Return the struct of a kind; ``None`` for a kind that is not of Kubernetes."""
    name = _data().kinds.get((group, version, kind))
    return None if name is None else struct(name)


def kind_versions() -> Mapping[tuple[str, str, str], str]:
    """Names of structs by group, version and kind."""
    return _data().kinds


@cache
def struct(name: str) -> StructType:
    """Return a struct by its name, such as ``core/v1.Container``."""
    fields = {each[0]: _field(each, name) for each in _data().types[name]}
    return StructType(name, fields, is_atomic=name in _ATOMIC)


def _field(line: list[Any], owner: str = "") -> FieldType:
    name, expression, flags, *rest = line
    facts: Json = rest[0] if rest else {}
    return FieldType(
        name,
        _type(expression, facts),
        "p" in flags,
        "e" in flags or "z" in flags,
        "z" in flags,
        facts.get("default"),
        tuple(facts["patch"].split(",")) if "patch" in facts else (),
        facts.get("key", ""),
        "r" in flags,
        tuple(facts.get("enum", ())),
        tuple(int(each) for each in facts["proto"].split(".")) if "proto" in facts else (),
        (owner, name) in _READ_EMPTY,
    )


def _type(expression: str, facts: Json) -> ValueType:
    if expression.startswith("[]"):
        return _list(expression[2:], facts)
    if expression.startswith("{}"):
        merge = Merge.ATOMIC if facts.get("map") == "atomic" else Merge.GRANULAR
        item = _type(expression[2:], {})
        return ValueType(Form.MAP, item, merge=merge, go_type=facts.get("go", ""))
    if expression.startswith("."):
        name = expression[1:]
        atomic = facts.get("map", "atomic" if name in _ATOMIC else "") == "atomic"
        merge = Merge.ATOMIC if atomic else Merge.GRANULAR
        return ValueType(Form.STRUCT, find=lambda: struct(name), merge=merge)
    if expression in _UNIONS:
        return ValueType(Form.ANY, find=lambda: struct(_SCHEMA), union=_UNIONS[expression])
    go_type = RAW if expression == "raw" else facts.get("go", "")
    return ValueType(_FORMS[expression], go_type=go_type)


def _list(expression: str, facts: Json) -> ValueType:
    merge = Merge(facts.get("list", "atomic"))
    keys = tuple(facts.get("keys", ()))
    defaults = {}
    item = _type(expression, {})
    if keys and item.form is Form.STRUCT:
        named = {each[0]: each for each in _data().types[expression[1:]]}
        for key in keys:
            default = _field(named[key]).default if key in named else None
            if default is not None:
                defaults[key] = default
    return ValueType(Form.LIST, item, None, merge, keys, defaults, facts.get("go", ""))


_SCHEMA: Final = "apiextensions/v1.JSONSchemaProps"
_READ_EMPTY: Final = frozenset({("autoscaling/v2.HPAScalingRules", "policies")})
"""Lists whose defaults apply if they are absent, not if they are empty."""
_ATOMIC: Final = frozenset(
    {
        "admissionregistration/v1.MatchResources",
        "admissionregistration/v1.NamedRuleWithOperations",
        "admissionregistration/v1.ParamKind",
        "admissionregistration/v1.ParamRef",
        "admissionregistration/v1.Variable",
        "autoscaling/v1.CrossVersionObjectReference",
        "core/v1.ConfigMapKeySelector",
        "core/v1.EndpointAddress",
        "core/v1.EndpointPort",
        "core/v1.FileKeySelector",
        "core/v1.LocalObjectReference",
        "core/v1.NodeSelector",
        "core/v1.NodeSelectorTerm",
        "core/v1.ObjectFieldSelector",
        "core/v1.ObjectReference",
        "core/v1.ResourceFieldSelector",
        "core/v1.ScopeSelector",
        "core/v1.SecretKeySelector",
        "core/v1.SecretReference",
        "core/v1.TopologySelectorTerm",
        "core/v1.TypedLocalObjectReference",
        "discovery/v1.EndpointPort",
        "meta/v1.LabelSelector",
        "meta/v1.OwnerReference",
        "networking/v1.ServiceBackendPort",
        "rbac/v1.RoleRef",
        "rbac/v1.Subject",
    }
)
"""Structs that server-side apply treats as atomic (``+structType=atomic``)."""
_UNIONS: Final = {
    "schemaorarray": Union(1, 2, ValueType(Form.LIST, _type(f".{_SCHEMA}", {}))),
    "schemaorbool": Union(2, 1, ValueType(Form.BOOL)),
    "schemaorstrings": Union(1, 2, ValueType(Form.LIST, ValueType(Form.STRING))),
}
"""Types of JSON schemas that are either a schema or another value, by name in the data file."""
