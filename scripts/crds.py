"""Writes deploy/crds/*.yaml: structural schemas of our kinds, from the structs that read them.

Types, defaults and descriptions are those of the structs in ``stretto.api``; names and printer
columns are those of its table of kinds; bounds and CEL rules are those of ``crd_rules.py``.
``--check`` reports whether the files are up to date.
"""

import argparse
import re
import sys
from inspect import getsource
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml
from crd_rules import EXTRA
from crd_rules import RULES as OWN_RULES
from federation_rules import RULES as FEDERATION_RULES
from msgspec import inspect

from stretto.api.codec import struct_of
from stretto.api.kinds.entry import Column
from stretto.api.kinds.table import custom_kinds, entry_of, federation_kinds
from stretto.api.types.pod import Container
from stretto.api.wire.kinds import Kind
from stretto.api.wire.meta import ObjectMeta

FOLDER: Final = Path(__file__).resolve().parents[1] / "deploy" / "crds"
RULES: Final = {**OWN_RULES, **FEDERATION_RULES}
HEADER: Final = (
    "# Made by scripts/crds.py from the structs of stretto.api: change those, then run it.\n"
)
DEPTH: Final = 2
"""Nesting depth of a type within itself (zones in zones) from which its schema is open."""
OPEN: Final[dict[str, Any]] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
QUANTITY: Final[dict[str, Any]] = {
    "x-kubernetes-int-or-string": True,
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "maxLength": 64,
}
SUBRESOURCES: Final[dict[str, dict[str, str]]] = {
    "scale": {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
}
"""Paths of the values of subresources."""
APPROVALS: Final = {
    "autoscaling.k8s.io": {
        "api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/63797"
    }
}
"""Approvals of APIs by Kubernetes, by group."""
_SCALARS: Final = {
    inspect.StrType: {"type": "string"},
    inspect.BoolType: {"type": "boolean"},
    inspect.IntType: {"type": "integer", "format": "int64"},
    inspect.FloatType: {"type": "number"},
}


def definition(kind: Kind) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind."""
    entry = entry_of(kind)
    subresources = {name: SUBRESOURCES.get(name, {}) for name in entry.subresources}
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        **_stated("subresources", subresources),
        **_stated("additionalPrinterColumns", [_column(each) for each in entry.columns]),
        "schema": {"openAPIV3Schema": root(kind)},
    }
    names = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": entry.singular,
        **_stated("categories", [*entry.categories]),
        **_stated("shortNames", [*entry.short_names]),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.resource, **_approval(kind)},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": names,
            "versions": [version],
        },
    }


def _stated(name: str, value: dict[str, Any] | list[Any]) -> dict[str, Any]:
    """A member that is not empty.

    An API server drops empty ones, so two field managers that state them have a conflict.
    """
    return {name: value} if value else {}


def _approval(kind: Kind) -> dict[str, Any]:
    """The annotation that an API server requires of the groups of Kubernetes."""
    return {"annotations": APPROVALS[kind.group]} if kind.group in APPROVALS else {}


def _column(column: Column) -> dict[str, Any]:
    """A printer column."""
    found: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.priority:
        found["priority"] = column.priority
    return found


def root(kind: Kind) -> dict[str, Any]:
    """The schema of a whole object."""
    struct = struct_of(kind)
    schema = _struct(struct, kind.kind, ())
    properties = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        **EXTRA.get(kind.kind, {}),
        **{name: each for name, each in schema["properties"].items() if name != "metadata"},
    }
    required = [name for name in schema.pop("required", []) if name != "metadata"]
    return {**schema, "properties": properties, **({"required": required} if required else {})}


def _struct(struct: type, path: str, above: tuple[type, ...]) -> dict[str, Any]:
    """A struct's schema; ``path`` is its position, ``above`` are the types that contain it."""
    about = inspect.type_info(struct)
    assert isinstance(about, inspect.StructType)
    texts = sentences(struct)
    properties = {}
    for field in about.fields:
        at = f"{path}.{field.encode_name}"
        schema = _type(field.type, at, (*above, struct))
        if field.encode_name.endswith("Time") or field.encode_name == "timeAdded":
            schema = {**schema, "format": "date-time"}
        rules = RULES.get(at, {})
        properties[field.encode_name] = {"description": texts[field.name], **schema, **rules}
    required = [each.encode_name for each in about.fields if each.required]
    first = (struct.__doc__ or "").split("\n")[0]
    return {
        "description": first,
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        **({"x-kubernetes-preserve-unknown-fields": True} if struct is Container else {}),
        **RULES.get(path, {}),
    }


def _type(about: inspect.Type, path: str, above: tuple[type, ...]) -> dict[str, Any]:
    """The schema of a field's type."""
    if isinstance(about, inspect.UnionType):
        return _union(about, path, above)
    if isinstance(about, inspect.Metadata):
        return _type(about.type, path, above)
    if isinstance(about, inspect.StructType):
        if about.cls is ObjectMeta or above.count(about.cls) >= DEPTH:
            return dict(OPEN)
        return _struct(about.cls, path, above)
    if isinstance(about, inspect.EnumType):
        return {"type": "string", "enum": [each.value for each in about.cls]}
    if isinstance(about, inspect.VarTupleType):
        return {"type": "array", "items": _type(about.item_type, f"{path}[]", above)}
    if isinstance(about, inspect.DictType):
        values = _type(about.value_type, f"{path}{{}}", above)
        return {
            "type": "object",
            "additionalProperties": {**values, **RULES.get(f"{path}{{}}", {})},
        }
    if isinstance(about, inspect.RawType | inspect.AnyType):
        return {"x-kubernetes-preserve-unknown-fields": True}
    return dict(_SCALARS[type(about)])


def _union(about: inspect.UnionType, path: str, above: tuple[type, ...]) -> dict[str, Any]:
    empty = (inspect.NoneType,)
    parts = [each for each in about.types if not isinstance(each, empty)]
    if any(isinstance(each, inspect.RawType) for each in parts):
        return {"x-kubernetes-preserve-unknown-fields": True}
    if len(parts) == 1:
        return _type(parts[0], path, above)
    if any(isinstance(each, inspect.StrType) for each in parts):
        return dict(QUANTITY)
    return {"type": "number"}


def sentences(struct: type) -> dict[str, str]:
    """The comments before the fields of a struct and of its bases."""
    texts: dict[str, str] = {}
    for each in reversed(struct.__mro__):
        if not issubclass(each, msgspec.Struct) or each is msgspec.Struct:
            continue
        found = re.findall(r"((?:^ +#: .*\n)+) +(\w+):", getsource(each), re.MULTILINE)
        for comment, name in found:
            words = " ".join(line.strip().removeprefix("#: ") for line in comment.splitlines())
            texts[name] = words.replace("``", "")
    return texts


class _Plain(yaml.SafeDumper):
    """Writes repeated values in full, because anchors are hard to read."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return that the data are always written."""
        return True


def text_of(kind: Kind) -> str:
    """The file of a kind."""
    return HEADER + yaml.dump(definition(kind), Dumper=_Plain, sort_keys=False, width=110)


def main() -> int:
    """Write the files, or report which are stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    check = parser.parse_args().check
    stale = []
    folders = dict.fromkeys(custom_kinds(), FOLDER)
    folders |= dict.fromkeys(federation_kinds(), FOLDER.parent / "federation" / "crds")
    for kind, folder in folders.items():
        path, text = folder / f"{kind.plural}.yaml", text_of(kind)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if not check:
                path.write_text(text, encoding="utf-8")
    print("\n".join(stale) or "up to date")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
