"""Paths and operations of resources and of their subresources."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from stretto.web.api.discovery.openapi import parameters
from stretto.web.api.discovery.openapi.dialects import SchemaDialect
from stretto.web.api.discovery.openapi.schemas import GVK, PATCH, schema_name
from stretto.web.api.encoding import JSON, PROTOBUF, YAML

Json = dict[str, Any]

_STREAMED: Final = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
_ANY: Final = "*/*"
_PATCHES: Final = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_TEXTS: Final = {200: "OK", 201: "Created", 202: "Accepted", 401: "Unauthorized"}
STATUS: Final = schema_name("meta/v1.Status")
"""Schema of responses to deletions."""
EVENT: Final = schema_name("meta/v1.WatchEvent")
"""Schema of events of a watch."""
OPTIONS: Final = schema_name("meta/v1.DeleteOptions")
"""Schema of bodies of deletions."""


@dataclass(frozen=True)
class PathSubject:
    """The subject of the operations of a path."""

    #: Tag: group and version.
    tag: str
    #: Group, version and kind.
    gvk: Json
    #: Name of its schema; empty for text.
    schema: str
    #: Suffix of operation names: ``AppsV1NamespacedDeployment``.
    name: str
    #: True if the kind is a custom resource, which has neither protobuf nor strategic patches.
    is_custom: bool = False


@dataclass(frozen=True)
class PathOperation:
    """One operation of a path."""

    #: HTTP method.
    method: str
    #: ``x-kubernetes-action``.
    word: str
    #: Name of the operation.
    id: str
    #: Query parameters.
    query: Sequence[str]
    #: Schema of the response, by status.
    answers: Mapping[int, str]
    #: Schema of the body; empty for none.
    body: str = ""
    #: Further media types of the response, after those of an object.
    media: Sequence[str] = field(default=())


def object_actions(
    subject: PathSubject, verbs: Sequence[str], deleted: str
) -> Iterator[PathOperation]:
    """Yield the operations on one object.

    Args:
        subject: the object.
        verbs: the served verbs.
        deleted: schema of the response to a deletion.
    """
    name, one = subject.name, subject.schema
    if "get" in verbs:
        query = ["pretty", "resourceVersion"] if subject.is_custom else ["pretty"]
        yield PathOperation("get", "get", f"read{name}", query, {200: one})
    if "update" in verbs:
        answers = {200: one, 201: one}
        yield PathOperation("put", "put", f"replace{name}", parameters.WRITE, answers, one)
    if "delete" in verbs:
        answers = {200: deleted, 202: deleted}
        yield PathOperation(
            "delete", "delete", f"delete{name}", parameters.DELETE, answers, OPTIONS
        )
    if "patch" in verbs:
        query = [*parameters.WRITE, "force"]
        answers = {200: one} if subject.is_custom else {200: one, 201: one}
        yield PathOperation("patch", "patch", f"patch{name}", query, answers, PATCH)


def list_actions(
    subject: PathSubject, verbs: Sequence[str], listed: str
) -> Iterator[PathOperation]:
    """Yield the operations on a collection; ``listed`` is the schema of a list."""
    name = subject.name
    if "list" in verbs:
        media = () if subject.is_custom else _STREAMED
        yield PathOperation("get", "list", f"list{name}", parameters.LIST, {200: listed}, "", media)
    if "create" in verbs:
        yield creation(subject)
    if "deletecollection" in verbs:
        query = parameters.LIST if subject.is_custom else parameters.DELETE_MANY
        body = "" if subject.is_custom else OPTIONS
        word = _collection(name, subject.gvk["kind"])
        yield PathOperation("delete", "deletecollection", word, query, {200: STATUS}, body)


def _collection(name: str, kind: str) -> str:
    """Return the operation name of the deletion of a collection."""
    head = name.removesuffix(kind)
    scope = "Namespaced" if head.endswith("Namespaced") else ""
    return f"delete{head.removesuffix(scope)}Collection{scope}{kind}"


def creation(subject: PathSubject) -> PathOperation:
    """Return the operation that creates an object."""
    one = subject.schema
    answers = {200: one, 201: one, 202: one}
    return PathOperation("post", "post", f"create{subject.name}", parameters.WRITE, answers, one)


def watch_action(word: str, name: str) -> PathOperation:
    """Return the operation of a watch at a separate path."""
    return PathOperation("get", word, name, parameters.LIST, {200: EVENT}, "", _STREAMED)


def path_item(
    subject: PathSubject,
    actions: Sequence[PathOperation],
    place: Sequence[str],
    dialect: SchemaDialect,
) -> Json:
    """Return the operations of a path, with their common parameters."""
    common = parameters.shared([each.query for each in actions])
    found: Json = {each.method: _operation(subject, each, common, dialect) for each in actions}
    listed = [(name, "path") for name in place] + [(name, "query") for name in common]
    if listed:
        found["parameters"] = [
            parameters.parameter(name, where, dialect) for name, where in sorted(listed)
        ]
    return found


def _operation(
    subject: PathSubject, action: PathOperation, common: set[str], dialect: SchemaDialect
) -> Json:
    own = sorted(set(action.query) - common)
    query = [parameters.parameter(name, "query", dialect) for name in own]
    found: Json = {"tags": [subject.tag], "operationId": action.id}
    answers = {**action.answers, 401: ""}
    if dialect is SchemaDialect.V2:
        body = [_v2_body(action)] if action.body else []
        query = [*body, *query]
        found |= {"consumes": _consumed(subject, action), "produces": _produced(subject, action)}
        found |= {"schemes": ["https"], "responses": {}}
        for status, name in answers.items():
            found["responses"][str(status)] = _v2_answer(status, name, action)
    else:
        if action.body:
            found["requestBody"] = _v3_body(subject, action)
        media = _produced(subject, action)
        found["responses"] = {
            str(status): _v3_answer(status, name, action, media) for status, name in answers.items()
        }
    if query:
        found["parameters"] = query
    return {**found, "x-kubernetes-action": action.word, GVK: subject.gvk}


def _consumed(subject: PathSubject, action: PathOperation) -> list[str]:
    if action.word == "patch":
        return [each for each in _PATCHES if not (subject.is_custom and "strategic" in each)]
    return [JSON, YAML] if subject.is_custom else [_ANY]


def _produced(subject: PathSubject, action: PathOperation) -> list[str]:
    if action.word == "connect":
        return [_ANY]
    found = [JSON, YAML] if subject.is_custom else [JSON, YAML, PROTOBUF]
    return [*found, *action.media]


def _schema(name: str, dialect: SchemaDialect) -> Json:
    return dialect.reference(name) if name else {"type": "string"}


def _v2_body(action: PathOperation) -> Json:
    needed = {} if action.body == OPTIONS else {"required": True}
    return {
        "name": "body",
        "in": "body",
        **needed,
        "schema": _schema(action.body, SchemaDialect.V2),
    }


def _v2_answer(status: int, name: str, action: PathOperation) -> Json:
    text = {"description": _TEXTS[status]}
    return (
        text
        if status not in action.answers
        else {**text, "schema": _schema(name, SchemaDialect.V2)}
    )


def _v3_body(subject: PathSubject, action: PathOperation) -> Json:
    content = {"schema": _schema(action.body, SchemaDialect.V3)}
    needed = {} if action.body == OPTIONS else {"required": True}
    return {"content": dict.fromkeys(_consumed(subject, action), content), **needed}


def _v3_answer(status: int, name: str, action: PathOperation, media: Sequence[str]) -> Json:
    found: Json = {"description": _TEXTS[status]}
    if status in action.answers:
        content = {"schema": _schema(name, SchemaDialect.V3)}
        found["content"] = dict.fromkeys(media, content)
    return found
