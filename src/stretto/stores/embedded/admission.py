"""Checks before a create or a change.

The checks cover only what the store relies on: size, well-formed heads and labels, names, kind.
Readers of a pod validate the rest. An invalid body fails alone, with the path of the field.
"""

from functools import lru_cache
from typing import Final

import msgspec

from stretto.api.kinds.table import TABLE
from stretto.api.types.heads import ObjectHead, PodHead, decode_object_head, decode_pod_head
from stretto.api.wire.generated_names import drawn_suffix
from stretto.api.wire.kinds import DEFAULT_NAMESPACE, POD, POD_DISRUPTION_BUDGET, Kind
from stretto.api.wire.limits import MAX_BYTES, measured
from stretto.api.wire.names import dns_subdomain, is_dns_subdomain, is_path_segment
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.stores.embedded.disruption import decode_budget
from stretto.stores.facts import decode_facts, decode_pod_facts

_FREE_NAMES: Final = frozenset(
    {"rbac.authorization.k8s.io", "apiregistration.k8s.io", "policy", "certificates.k8s.io"}
)
"""API groups whose objects may have any name that fits into a URL: ``system:node``, ``v1.``."""
_FREE_KIND: Final = "Event"
"""Kind of the core group whose objects may have such names."""

_LABELS: Final = msgspec.json.Decoder(dict[str, str] | None)
_MOST_CACHED: Final = 4096
"""Maximum size in bytes of cached labels, so that the memory of the cache is bounded."""


def are_labels(raw: bytes) -> bool:
    """Return whether all labels are strings.

    The result is cached, because pods of one template have equal labels; large ones do not recur.
    """
    return _known_labels(raw) if len(raw) <= _MOST_CACHED else _are_labels(raw)


@lru_cache(maxsize=1 << 14)
def _known_labels(raw: bytes) -> bool:
    return _are_labels(raw)


def _are_labels(raw: bytes) -> bool:
    try:
        if raw:
            _LABELS.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def decode_pod(body: bytes) -> PodHead:
    """Decode the head of a new pod; check size, JSON and the fields that the store relies on."""
    if len(body) > MAX_BYTES:
        measured(body, "pod")
    head = decode_pod_head(body)
    if not are_labels(bytes(head.metadata.labels)):
        decode_pod_facts(body)  # raises an error with the field
    return head


def decode_object(kind: Kind, body: bytes) -> ObjectHead:
    """Decode the head of any other new object."""
    head = decode_object_head(measured(body, "object"))
    if head.kind and head.kind != kind.kind:
        raise InputError("object.kind", head.kind, kind.kind)
    if head.api_version and not _is_version(head.api_version, kind):
        raise InputError("object.apiVersion", head.api_version, kind.api_version)
    decode_facts(body)
    if kind == POD_DISRUPTION_BUDGET:
        decode_budget(body)
    return head


def _is_version(api_version: str, kind: Kind) -> bool:
    """Return whether objects of a kind may have an API version.

    A custom kind has several, and its definition may change its storage version.
    """
    if api_version == kind.api_version:
        return True
    return kind not in TABLE and api_version.rpartition("/")[0] == kind.group != ""


def decode_changed(kind: Kind, body: bytes) -> PodHead | ObjectHead:
    """Decode the head of a changed object; check what deletion and selection rely on."""
    if kind != POD:
        return decode_object(kind, body)
    head = decode_pod(measured(body, "pod"))
    decode_pod_facts(body)
    return head


def place_of(kind: Kind, name: str, head: PodHead | ObjectHead, rng: Rng) -> tuple[str, str]:
    """Return namespace and name of a new object; generate a missing name from ``generateName``."""
    name = name or generated_name(head, rng)
    is_free = kind.group in _FREE_NAMES or kind.kind == _FREE_KIND
    if not is_dns_subdomain(name) and not (is_free and is_path_segment(name)):
        dns_subdomain(name, f"{kind.kind.lower()}.metadata.name")
    namespace = head.metadata.namespace
    if kind.namespaced:
        return namespace or DEFAULT_NAMESPACE, name
    if namespace:
        raise InputError(
            f"{kind.kind.lower()}.metadata.namespace",
            namespace,
            "no namespace: the kind is cluster-scoped",
        )
    return "", name


def generated_name(head: PodHead | ObjectHead, rng: Rng) -> str:
    """Generate a name from ``generateName`` and five letters; empty without ``generateName``."""
    prefix = head.metadata.generate_name
    return prefix and prefix + drawn_suffix(rng)
