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
    if (owner, name) in _GO_TYPES:
        facts = {**facts, "go": _GO_TYPES[owner, name]}
    numbers = tuple(int(each) for each in facts["proto"].split(".")) if "proto" in facts else ()
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
        numbers,
        (owner, name) in _READ_EMPTY,
        _embedded(owner, len(numbers) - 1),
    )


def _embedded(owner: str, depth: int) -> str:
    """Return the names of the structs that contain a field at a depth below another struct."""
    return "".join(f"{each}." for each in _EMBEDDED.get(owner, ())[:depth]) if depth > 0 else ""


def _type(expression: str, facts: Json) -> ValueType:
    if expression.startswith("[]"):
        return _list(expression[2:], facts)
    if expression.startswith("{}"):
        merge = Merge.ATOMIC if facts.get("map") == "atomic" else Merge.GRANULAR
        inner = facts.get("go", "").partition("]")[2] if expression.startswith("{}[]") else ""
        item = _type(expression[2:], {"go": inner} if inner else {})
        go_type = _LISTED if item.form is Form.QUANTITY else ""
        return ValueType(Form.MAP, item, merge=merge, go_type=facts.get("go", go_type))
    if expression.startswith("."):
        name = expression[1:]
        atomic = facts.get("map", "atomic" if name in _ATOMIC else "") == "atomic"
        merge = Merge.ATOMIC if atomic else Merge.GRANULAR
        return ValueType(Form.STRUCT, find=lambda: struct(name), merge=merge)
    if expression in _UNIONS:
        return ValueType(Form.ANY, find=lambda: struct(_SCHEMA), union=_UNIONS[expression])
    go_type = RAW if expression == "raw" else facts.get("go", "")
    return ValueType(_FORMS[expression], go_type=go_type)


def _key_default(key: FieldType) -> Any:
    """Return the default of a key of a list; a key that Go always encodes has its empty value."""
    if key.default is not None or key.is_pointer or key.omits_empty:
        return key.default
    return {Form.STRING: "", Form.INT32: 0}.get(key.type.form)


def _list(expression: str, facts: Json) -> ValueType:
    merge = Merge(facts.get("list", "atomic"))
    keys = tuple(facts.get("keys", ()))
    defaults = {}
    go_type = facts.get("go", "")
    go_type = go_type.removeprefix("[]") if go_type.startswith("[]") else ""
    item = _type(expression, {"go": go_type} if go_type and not expression.startswith(".") else {})
    if keys and item.form is Form.STRUCT:
        named = {each[0]: each for each in _data().types[expression[1:]]}
        for key in keys:
            default = _key_default(_field(named[key])) if key in named else None
            default = "" if default is None and expression == _REFERENCES else default
            if default is not None:
                defaults[key] = default
    return ValueType(Form.LIST, item, None, merge, keys, defaults, facts.get("go", ""))


_REFERENCES: Final = ".core/v1.LocalObjectReference"
"""Items whose absent name counts as empty."""
_SCHEMA: Final = "apiextensions/v1.JSONSchemaProps"
_LISTED: Final = "v1.ResourceList"
"""Go type of amounts by resource."""
_NAMED: Final = "map[v1.QualifiedName]"
_GO_TYPES: Final = {
    ("apiextensions/v1.JSONSchemaProps", "dependencies"): "v1.JSONSchemaDependencies",
    ("apiextensions/v1.JSONSchemaProps", "enum"): "[]v1.JSON",
    ("apiextensions/v1.JSONSchemaProps", "x-kubernetes-validations"): "v1.ValidationRules",
    ("authentication/v1.UserInfo", "extra"): "map[string]v1.ExtraValue",
    ("authorization/v1.SubjectAccessReviewSpec", "extra"): "map[string]v1.ExtraValue",
    ("certificates/v1.CertificateSigningRequestSpec", "extra"): "map[string]v1.ExtraValue",
    ("resource/v1.CapacityRequirements", "requests"): f"{_NAMED}resource.Quantity",
    ("resource/v1.Device", "attributes"): f"{_NAMED}v1.DeviceAttribute",
    ("resource/v1.Device", "capacity"): f"{_NAMED}v1.DeviceCapacity",
    ("resource/v1.Device", "nodeAllocatableResourceMappings"): (
        "map[v1.ResourceName]v1.NodeAllocatableResourceMapping"
    ),
}
"""Go types of maps whose keys are not plain strings, by struct and field."""
_NAMED_OBJECT: Final = ("LocalObjectReference",)
_DEVICE: Final = ("DeviceConfiguration",)
_EMBEDDED: Final = {
    "admissionregistration/v1.NamedRuleWithOperations": ("RuleWithOperations", "Rule"),
    "admissionregistration/v1.RuleWithOperations": ("Rule",),
    "core/v1.ConfigMapEnvSource": _NAMED_OBJECT,
    "core/v1.ConfigMapKeySelector": _NAMED_OBJECT,
    "core/v1.ConfigMapProjection": _NAMED_OBJECT,
    "core/v1.ConfigMapVolumeSource": _NAMED_OBJECT,
    "core/v1.EphemeralContainer": ("EphemeralContainerCommon",),
    "core/v1.PersistentVolumeSpec": ("PersistentVolumeSource",),
    "core/v1.Probe": ("ProbeHandler",),
    "core/v1.SecretEnvSource": _NAMED_OBJECT,
    "core/v1.SecretKeySelector": _NAMED_OBJECT,
    "core/v1.SecretProjection": _NAMED_OBJECT,
    "core/v1.Volume": ("VolumeSource",),
    "networking/v1.IngressRule": ("IngressRuleValue",),
    "resource/v1.DeviceAllocationConfiguration": _DEVICE,
    "resource/v1.DeviceClaimConfiguration": _DEVICE,
    "resource/v1.DeviceClassConfiguration": _DEVICE,
}
"""Structs that Go embeds in other ones, from outside to inside."""
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
