"""What may become an object: the checks before a create or a change.

They ask only what the store itself relies on (size, well-formed heads and labels, names, kind);
that a pod makes sense is for its reader to judge. A body that fails is refused alone, with the
path.
"""

from functools import lru_cache
from typing import Final

import msgspec

from stretto.api.types.heads import ObjectHead, PodHead, decode_object_head, decode_pod_head
from stretto.api.wire.kinds import POD, POD_DISRUPTION_BUDGET, Kind
from stretto.api.wire.limits import MAX_BYTES, measured
from stretto.api.wire.names import dns_subdomain, is_dns_subdomain
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.stores.embedded.disruption import decode_budget
from stretto.stores.facts import decode_facts, decode_pod_facts

DEFAULT_NAMESPACE: Final = "default"
"""Where namespaced objects go that name no namespace, as everywhere in Kubernetes."""
SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Letters of made-up name endings: Kubernetes' choice, in which no word can be spelled."""


_LABELS: Final = msgspec.json.Decoder(dict[str, str] | None)


@lru_cache(maxsize=1 << 14)
def are_labels(raw: bytes) -> bool:
    """Whether raw labels are texts; pods of one template have the same, so answers are kept."""
    try:
        if raw:
            _LABELS.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def decode_pod(body: bytes) -> PodHead:
    """A new pod's head; size, JSON and the fields that the store relies on are checked."""
    if len(body) > MAX_BYTES:
        measured(body, "pod")
    head = decode_pod_head(body)
    if not are_labels(bytes(head.metadata.labels)):
        decode_pod_facts(body)  # says what is wrong with them
    return head


def decode_object(kind: Kind, body: bytes) -> ObjectHead:
    """Any other new object's head."""
    head = decode_object_head(measured(body, "object"))
    if head.kind and head.kind != kind.kind:
        raise InputError("object.kind", head.kind, kind.kind)
    if head.api_version and head.api_version != kind.api_version:
        raise InputError("object.apiVersion", head.api_version, kind.api_version)
    decode_facts(body)
    if kind == POD_DISRUPTION_BUDGET:
        decode_budget(body)
    return head


def decode_changed(kind: Kind, body: bytes) -> PodHead | ObjectHead:
    """The head of an object after a change: all that deletion and selection rely on is checked."""
    if kind != POD:
        return decode_object(kind, body)
    head = decode_pod(measured(body, "pod"))
    decode_pod_facts(body)
    return head


def place_of(kind: Kind, name: str, head: PodHead | ObjectHead, rng: Rng) -> tuple[str, str]:
    """Namespace and name of a new object; a missing name is made from ``generateName``."""
    name = name or generated_name(head, rng)
    if not is_dns_subdomain(name):
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
    """A name from ``generateName`` and five letters; the empty text where that is not given."""
    prefix = head.metadata.generate_name
    return prefix and prefix + "".join([rng.choice(SUFFIX_LETTERS) for _ in range(5)])
