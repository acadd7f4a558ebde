"""Entries from CustomResourceDefinitions."""

from typing import Any

import msgspec

from stretto.api.kinds.entry import KEEP_ALL, Column, KindEntry
from stretto.api.wire.kinds import Kind
from stretto.base.errors import InputError


class _Names(msgspec.Struct, rename="camel"):
    """``spec.names``."""

    kind: str
    plural: str
    singular: str = ""
    short_names: list[str] = []
    categories: list[str] = []


class _Column(msgspec.Struct, rename="camel"):
    """One of ``additionalPrinterColumns``."""

    name: str
    json_path: str
    type: str
    priority: int = 0


class _Version(msgspec.Struct, rename="camel"):
    """One of ``spec.versions``."""

    name: str
    storage: bool = False
    served: bool = True
    subresources: dict[str, Any] | None = None
    additional_printer_columns: list[_Column] | None = None


class _Spec(msgspec.Struct):
    """``spec``."""

    group: str
    names: _Names
    scope: str
    versions: list[_Version]


class _Definition(msgspec.Struct):
    """The part of a CustomResourceDefinition that describes a kind."""

    spec: _Spec


def entry_of_crd(definition: Any, *, recorded: bool = False) -> KindEntry:
    """Return the entry of the storage version of a CRD; its objects are raw.

    Args:
        definition: the CRD as decoded JSON or YAML, of ``apiextensions.k8s.io/v1``.
        recorded: whether recordings contain its objects, with all fields.

    Raises:
        InputError: the CRD lacks a name or a storage version.
    """
    try:
        spec = msgspec.convert(definition, _Definition).spec
    except msgspec.ValidationError as error:
        raise InputError("CustomResourceDefinition", None, "a CRD of v1", str(error)) from error
    version = next((each for each in spec.versions if each.storage), None)
    if version is None:
        where = f"CustomResourceDefinition {spec.names.plural}.{spec.group}: spec.versions"
        raise InputError(where, None, "a version with storage: true")
    names = spec.names
    kind = Kind(
        spec.group,
        version.name,
        names.kind,
        names.plural,
        namespaced=spec.scope != "Cluster",
    )
    return KindEntry(
        kind=kind,
        qualified=True,
        singular_name=names.singular,
        short_names=tuple(names.short_names),
        categories=tuple(names.categories),
        subresources=tuple(sorted(version.subresources or ())),
        columns=tuple(
            Column(each.name, each.json_path, each.type, each.priority)
            for each in version.additional_printer_columns or ()
        ),
        recorded=recorded,
        kept=KEEP_ALL if recorded else (),
    )
