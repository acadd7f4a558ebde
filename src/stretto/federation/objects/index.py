"""Index of federated objects by kind of the template, policies and waiting replicas.

The keys are read from the stored bytes, so that a look-up among many objects decodes none of them.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import msgspec

from stretto.federation import names
from stretto.reconcile.cache import StoredObject

INDEX: Final = "federated"
"""Name of the index of federated objects."""
WAITING: Final = "waiting"
"""Key of the objects with replicas that run in no cluster."""


class _StoredMetadata(msgspec.Struct, frozen=True):
    labels: dict[str, Any] | None = None
    annotations: dict[str, Any] | None = None


class _StoredTemplate(msgspec.Struct, frozen=True, rename="camel"):
    api_version: Any = ""
    kind: Any = ""


class _StoredSpec(msgspec.Struct, frozen=True):
    template: _StoredTemplate | None = None


class _StoredHead(msgspec.Struct, frozen=True):
    metadata: _StoredMetadata | None = None
    spec: _StoredSpec | None = None


_DECODER: Final = msgspec.json.Decoder(_StoredHead)
_EMPTY: Final = _StoredHead()
_KEPT: Final = 1 << 10
"""Size of the cache of heads: each version of an object is read several times when it changes."""


@lru_cache(maxsize=_KEPT)
def _head(body: bytes) -> _StoredHead:
    """The fields of an object that determine its keys; empty for a malformed object."""
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _EMPTY


def keys_of(federated: StoredObject) -> Iterator[str]:
    """All keys of a federated object; a malformed object has none."""
    head = _head(federated.record.body)
    template = head.spec.template if head.spec is not None else None
    if template is not None:
        yield kind_key(*_group_kind(template))
    metadata = head.metadata or _StoredMetadata()
    labels = metadata.labels or {}
    for label in names.POLICY_LABELS & labels.keys():
        yield label_key(label, str(labels[label]))
    if names.WAITING in (metadata.annotations or {}):
        yield WAITING


def kind_of(federated: StoredObject) -> tuple[str, str]:
    """Group and kind of the template; empty if it has none."""
    head = _head(federated.record.body)
    template = head.spec.template if head.spec is not None else None
    return _group_kind(template) if template is not None else ("", "")


def kind_key(group: str, kind: str) -> str:
    """The key of the objects whose templates have a kind."""
    return f"kind {group}/{kind}"


def label_key(label: str, value: str) -> str:
    """The key of the objects with a label that names a policy."""
    return f"{label}={value}"


def _group_kind(template: _StoredTemplate) -> tuple[str, str]:
    return str(template.api_version).rpartition("/")[0], str(template.kind)
