"""Schemas of custom kinds in OpenAPI documents.

Version 2 cannot express every structural schema. As in kube-apiserver, the version 2 document omits
parts that kubectl would misinterpret: alternatives, nullable types, and fields next to unknown
ones.
"""

from typing import Any, Final

from stretto.api.schema.structural import EMBEDDED, PRESERVE
from stretto.web.api.discovery.openapi.resources import list_kind
from stretto.web.api.resources import ServedResource

Json = dict[str, Any]

_CONVENTIONS: Final = (
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
)
_VERSION: Final = {
    "description": "APIVersion defines the versioned schema of this representation of an object. "
    f"More info: {_CONVENTIONS}#resources",
    "type": "string",
}
_KIND: Final = {
    "description": "Kind is the REST resource that this object represents, in CamelCase. "
    f"More info: {_CONVENTIONS}#types-kinds",
    "type": "string",
}
_METADATA: Final = f"Standard object's metadata. More info: {_CONVENTIONS}#metadata"
_LIST_METADATA: Final = f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds"
_GVK: Final = "x-kubernetes-group-version-kind"
_SELECTABLE: Final = "x-kubernetes-selectable-fields"
_UNSAID: Final = ("allOf", "oneOf", "anyOf", "not", "default")
"""Members of schemas that do not exist in version 2."""
_MEMBERS: Final = ("items", "properties")


def object_schema(each: ServedResource, meta: Json, *, is_v2: bool) -> Json:
    """Return the schema of the objects of a kind.

    Args:
        each: the resource.
        meta: reference to the schema of metadata.
        is_v2: whether the document is of version 2.
    """
    kind = {"group": each.group, "version": each.kind.version, "kind": each.kind.kind}
    schema = each.version.get("schema")
    if not schema or (is_v2 and schema.get(PRESERVE)):
        # If any property were present, kubectl would refuse all others.
        return {"type": "object", _GVK: [kind], **_selectable(each)}
    found = _with_embedded(_for_v2(schema) if is_v2 else schema, meta, is_v2=is_v2)
    properties = {**(found.get("properties") or {}), **_head(meta, _METADATA)}
    return {**found, "properties": properties, _GVK: [kind], **_selectable(each)}


def list_schema(each: ServedResource, item: Json, meta: Json) -> Json:
    """Return the schema of a list of a kind.

    Args:
        each: the resource.
        item: reference to the schema of its objects.
        meta: reference to the schema of the metadata of lists.
    """
    name = list_kind(each)
    items = {
        "description": f"List of {each.resource}. More info: {_CONVENTIONS}",
        "type": "array",
        "items": item,
    }
    return {
        "description": f"{name} is a list of {each.kind.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {**_head(meta, _LIST_METADATA), "items": items},
        _GVK: [{"group": each.group, "version": each.kind.version, "kind": name}],
        **_selectable(each),
    }


def _selectable(each: ServedResource) -> Json:
    """Return the member that states the fields of field selectors; empty without such fields."""
    paths = each.version.get("selectable")
    return {_SELECTABLE: [{"fieldPath": path} for path in paths]} if paths else {}


def _head(meta: Json, description: str) -> Json:
    """Return the fields of every object: version, kind and metadata."""
    metadata = {**meta, "description": description}
    return {"apiVersion": _VERSION, "kind": _KIND, "metadata": metadata}


def _for_v2(schema: Json) -> Json:
    """Return a schema without the parts that version 2 cannot express."""
    found = {key: value for key, value in schema.items() if key not in _UNSAID}
    if found.pop("nullable", False):
        found.pop("type", None)
        _drop_members(found)
    if found.get(PRESERVE):
        _drop_members(found)
        if found.get("type") == "object":
            del found["type"]
    if found.get("type") == "array" and "items" not in found:
        del found["type"]
    inner = found.get("properties") or {}
    others = found.get("additionalProperties")
    required = [
        name for name in found.get("required") or () if not (inner.get(name) or {}).get("nullable")
    ]
    if isinstance(others, dict) and others.get("nullable"):
        required = []
    found.pop("required", None)
    return _over_members(found, _for_v2) | ({"required": required} if required else {})


def _drop_members(schema: Json) -> None:
    for name in _MEMBERS:
        schema.pop(name, None)


def _over_members(schema: Json, change: Any) -> Json:
    """Return a schema with a function applied to the schemas of its members."""
    found = dict(schema)
    if isinstance(found.get("properties"), dict):
        found["properties"] = {key: change(each) for key, each in found["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(found.get(name), dict):
            found[name] = change(found[name])
    return found


def _with_embedded(schema: Json, meta: Json, *, is_v2: bool) -> Json:
    """Return a schema in which embedded objects have version, kind and metadata."""
    found = _over_members(schema, lambda each: _with_embedded(each, meta, is_v2=is_v2))
    if not found.get(EMBEDDED) or (is_v2 and found.get(PRESERVE)):
        return found
    required = list(found.get("required") or ())
    required += [name for name in ("kind", "apiVersion") if name not in required]
    properties = {**(found.get("properties") or {}), **_head(meta, _METADATA)}
    return {**found, "properties": properties, "required": required}
