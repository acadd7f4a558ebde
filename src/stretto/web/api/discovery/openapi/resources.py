"""The paths of a served resource."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from stretto.api.schema.kubernetes import SubresourceFacts, struct_of_kind
from stretto.web.api.discovery.openapi import operations, parameters
from stretto.web.api.discovery.openapi.dialects import SchemaDialect
from stretto.web.api.discovery.openapi.operations import PathOperation, PathSubject
from stretto.web.api.discovery.openapi.schemas import schema_name
from stretto.web.api.objects.changes import RETURNED
from stretto.web.api.resources import ServedResource

Json = dict[str, Any]

_METHODS: Final = {
    "get": ("get",),
    "create": ("post",),
    "update": ("put",),
    "delete": ("delete",),
    "patch": ("patch", "options", "head"),
}
"""HTTP methods of a proxy, by verb."""


def version_name(group: str, version: str) -> str:
    """Format a version for names of operations: ``RbacAuthorizationV1``."""
    word = (group or "core").removesuffix(".k8s.io")
    return "".join(part[:1].upper() + part[1:] for part in (*word.split("."), version))


def version_tag(group: str, version: str) -> str:
    """Return the tag of a version: ``rbacAuthorization_v1``."""
    word = version_name(group, "")
    return f"{word[:1].lower()}{word[1:]}_{version}"


def custom_name(each: ServedResource) -> str:
    """Return the name of a custom kind in documents: reversed group, version and kind."""
    group = ".".join(reversed(each.group.split(".")))
    return f"{group}.{each.kind.version}.{each.kind.kind}"


def object_name(each: ServedResource) -> str:
    """Return the schema name of the objects of a resource."""
    return custom_name(each) if each.definition is not None else schema_name(each.struct.name)


def list_kind(each: ServedResource) -> str:
    """Return the kind of the lists of a resource."""
    return str(each.version.get("list_kind") or f"{each.kind.kind}List")


def list_name(each: ServedResource) -> str:
    """Return the schema name of the lists of a resource."""
    return object_name(each).removesuffix(each.kind.kind) + list_kind(each)


def subject_of(each: ServedResource) -> PathSubject:
    """Return the path subject of the objects of a resource."""
    group, version, kind = each.group, each.kind.version, each.kind.kind
    scope = "Namespaced" if each.kind.namespaced else ""
    return PathSubject(
        version_tag(group, version),
        {"group": group, "version": version, "kind": kind},
        object_name(each),
        f"{version_name(group, version)}{scope}{kind}",
        each.definition is not None,
    )


def resource_paths(
    each: ServedResource, base: str, dialect: SchemaDialect
) -> Iterator[tuple[str, Json]]:
    """Yield the paths of a resource with their operations."""
    subject, verbs, listed = subject_of(each), each.facts.verbs, list_name(each)
    spaces = ["namespace"] if each.kind.namespaced else []
    space = "/namespaces/{namespace}" if spaces else ""
    many, one = f"{space}/{each.resource}", f"{space}/{each.resource}/{{name}}"
    deleted = object_name(each) if each.key in RETURNED else operations.STATUS
    found: list[tuple[str, list[PathOperation], list[str]]] = [
        (many, list(operations.list_actions(subject, verbs, listed)), spaces),
        (one, list(operations.object_actions(subject, verbs, deleted)), ["name", *spaces]),
    ]
    if spaces and "list" in verbs:
        name = subject.name.replace("Namespaced", "", 1) + "ForAllNamespaces"
        whole = replace(subject, name=name)
        found.append((f"/{each.resource}", list(_lists(whole, listed)), []))
    if "watch" in verbs and not subject.is_custom:
        found += _watches(each, subject, (many, one))
    for path, actions, place in found:
        if actions:
            yield base + path, operations.path_item(subject, actions, place, dialect)
    for word, facts in each.facts.subresources.items():
        yield from _subresource(each, word, facts, (base + one, dialect))


def _lists(subject: PathSubject, listed: str) -> Iterator[PathOperation]:
    return operations.list_actions(subject, ("list",), listed)


def _watches(
    each: ServedResource, subject: PathSubject, paths: tuple[str, str]
) -> Iterator[tuple[str, list[PathOperation], list[str]]]:
    """Yield the paths of watches, which clients no longer use."""
    spaces = ["namespace"] if each.kind.namespaced else []
    name = subject.name
    many = operations.watch_action("watchlist", f"watch{name}List")
    one = operations.watch_action("watch", f"watch{name}")
    yield f"/watch{paths[0]}", [many], spaces
    yield f"/watch{paths[1]}", [one], ["name", *spaces]
    if spaces:
        whole = f"watch{name.replace('Namespaced', '', 1)}ListForAllNamespaces"
        action = operations.watch_action("watchlist", whole)
        yield f"/watch/{each.resource}", [action], []


def _subresource(
    each: ServedResource, word: str, facts: SubresourceFacts, where: tuple[str, SchemaDialect]
) -> Iterator[tuple[str, Json]]:
    """Yield the paths of a subresource; a proxy also has one for all paths behind it."""
    path, dialect = where
    parent = subject_of(each)
    kind = kind_of(each, facts)
    gvk = dict(zip(("group", "version", "kind"), kind, strict=True))
    named = f"{parent.name}{word[:1].upper()}{word[1:]}"
    place = ["name", "namespace"] if each.kind.namespaced else ["name"]
    subject = replace(parent, gvk=gvk, name=named, schema=_schema_of(each, kind))
    if word in parameters.CONNECT:
        if word == "log":
            query, media = parameters.CONNECT[word], ("text/plain",)
            answer = PathOperation("get", "get", f"read{named}", query, {200: ""}, "", media)
            yield f"{path}/log", operations.path_item(subject, [answer], place, dialect)
            return
        ends = [("", "")] if word != "proxy" else [("", ""), ("/{path}", "WithPath")]
        for end, suffix in ends:
            actions = list(_connections(named + suffix, parent, facts.verbs, word))
            inner = [*place, "path"] if end else place
            yield f"{path}/{word}{end}", operations.path_item(subject, actions, inner, dialect)
        return
    actions = list(operations.object_actions(subject, facts.verbs, operations.STATUS))
    if "create" in facts.verbs:
        actions.append(operations.creation(subject))
    yield f"{path}/{word}", operations.path_item(subject, actions, place, dialect)


def _connections(
    named: str, parent: PathSubject, verbs: Sequence[str], word: str
) -> Iterator[PathOperation]:
    """Yield the methods of a connection."""
    split = version_name(parent.gvk["group"], parent.gvk["version"])
    rest = named.removeprefix(split)
    for verb in verbs:
        for method in _METHODS[verb] if word == "proxy" else _METHODS[verb][:1]:
            name = f"connect{split}{method.title()}{rest}"
            yield PathOperation(method, "connect", name, parameters.CONNECT[word], {200: ""})


def kind_of(each: ServedResource, facts: SubresourceFacts) -> tuple[str, str, str]:
    """Return group, version and kind of the objects of a subresource."""
    group, version, kind = facts.kind
    return (group, version, kind) if version else (each.group, each.kind.version, kind)


def _schema_of(each: ServedResource, kind: tuple[str, str, str]) -> str:
    """Return the schema name of a subresource; empty if it is not an object."""
    if kind == (each.group, each.kind.version, each.kind.kind):
        return object_name(each)
    found = struct_of_kind(*kind)
    return "" if found is None else schema_name(found.name)
