"""``metadata.generation``: the number of changes of an object's spec.

Controllers compare it with ``status.observedGeneration``. A new object has generation 1, which its
body need not contain. Each change of ``spec`` (of a Deployment also of its annotations) increments
it, and no client can set it.
"""

from typing import Final

import msgspec

from stretto.api.codec import set_fields
from stretto.api.wire.kinds import (
    BINDING,
    CONFIG_MAP,
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    DEPLOYMENT,
    EVENT,
    LEASE,
    NAMESPACE,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    PRIORITY_CLASS,
    SERVICE,
    STORAGE_CLASS,
    VOLUME_ATTACHMENT,
    Kind,
)

_UNCOUNTED: Final = frozenset(
    {
        BINDING, CONFIG_MAP, CSI_DRIVER, CSI_NODE, CSI_STORAGE_CAPACITY, EVENT, LEASE, NAMESPACE,
        NODE, PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, PRIORITY_CLASS, SERVICE, STORAGE_CLASS,
        VOLUME_ATTACHMENT,
    }
)  # fmt: skip
"""Kinds without a generation on an API server: no status subresource, or not maintained."""
_WORD: Final = b'"generation"'
_FIRST: Final = (b":1,", b":1}")
"""Texts after the name of a generation that is 1."""


class _GenerationMeta(msgspec.Struct, frozen=True, gc=False):
    generation: int | None = None
    annotations: dict[str, str] | None = None


class _GenerationObject(msgspec.Struct, frozen=True, gc=False):
    metadata: _GenerationMeta = _GenerationMeta()
    spec: msgspec.Raw = msgspec.Raw(b"")


_DECODER: Final = msgspec.json.Decoder(_GenerationObject)
_NO_OBJECT: Final = _GenerationObject()


def is_counted(kind: Kind) -> bool:
    """Return whether objects of a kind have a generation."""
    return kind not in _UNCOUNTED


def may_have_generation(body: bytes) -> bool:
    """Return whether a body may contain a generation; a fast check without decoding."""
    return _WORD in body


def generation_of(body: bytes) -> int:
    """The generation of an object; 1 if its body contains none."""
    return (_decoded(body).metadata.generation if _WORD in body else None) or 1


def first_generation(kind: Kind, body: bytes) -> bytes:
    """Return the body of a new object without a generation that its creator has copied."""
    at = body.find(_WORD)
    if at < 0 or _is_first(body, at) or not is_counted(kind) or generation_of(body) == 1:
        return body
    return set_fields(body, {("metadata", "generation"): 1})


def _is_first(body: bytes, at: int) -> bool:
    """Return whether a body has only one member with that name, at this place, and it is 1."""
    end = at + len(_WORD)
    return body.startswith(_FIRST, end) and _WORD not in body[end:]


def next_generation(kind: Kind, old: bytes, new: bytes) -> bytes:
    """Return the new body of a changed object, with the generation that follows from its spec."""
    if not is_counted(kind):
        return new
    before, after = _decoded(old), _decoded(new)
    is_changed = _differ(before.spec, after.spec)
    if kind == DEPLOYMENT:  # on an API server its annotations count too
        notes = before.metadata.annotations or {}
        is_changed = is_changed or notes != (after.metadata.annotations or {})
    wanted = (before.metadata.generation or 1) + is_changed
    if (after.metadata.generation or 1) == wanted:
        return new
    return set_fields(new, {("metadata", "generation"): wanted})


def _differ(old: msgspec.Raw, new: msgspec.Raw) -> bool:
    """Return whether two specs differ in content; field order and white space are ignored."""
    before, after = bytes(old), bytes(new)
    if before == after:
        return False
    if not before or not after:
        return True
    return bool(msgspec.json.decode(before) != msgspec.json.decode(after))


def _decoded(body: bytes) -> _GenerationObject:
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _NO_OBJECT
