"""What selections, deletions and budgets read of a body, and no more.

A body is decoded into facts only when a question needs them; many records share a body, so who
asks for many keeps the answers by body.
"""

from typing import Final

import msgspec

from stretto.api.wire.refusals import refusal


class OwnerFacts(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An owner, as far as budgets want to know it."""

    #: Kind of the owner.
    kind: str = ""
    #: Name of the owner.
    name: str = ""
    #: Whether this owner manages the object.
    controller: bool | None = None


class MetaFacts(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Facts of any object's metadata."""

    #: What label selectors select by.
    labels: dict[str, str] | None = None
    #: Only checked for being well formed: binds write more of them.
    annotations: dict[str, str] | None = None
    #: Names that must leave before a deletion is final.
    finalizers: tuple[str, ...] | None = None
    #: Who owns the object.
    owner_references: tuple[OwnerFacts, ...] | None = None


class Facts(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Facts of any object."""

    #: Identity and bookkeeping.
    metadata: MetaFacts


class ConditionFacts(msgspec.Struct, frozen=True, gc=False):
    """One condition of a pod."""

    #: Which aspect.
    type: str = ""
    #: ``True``, ``False`` or ``Unknown``.
    status: str = ""


class PodStatusFacts(msgspec.Struct, frozen=True, gc=False):
    """Facts of a pod's status."""

    #: ``Pending``, ``Running``, ``Succeeded``, ``Failed`` or ``Unknown``; empty when nobody said.
    phase: str | None = None
    #: What was observed of the pod.
    conditions: tuple[ConditionFacts, ...] | None = None


NO_STATUS: Final = PodStatusFacts()


class PodRecordFacts(msgspec.Struct, frozen=True, gc=False):
    """Facts of a pod; its node stands in the record."""

    #: Identity and bookkeeping.
    metadata: MetaFacts
    #: Phase and conditions.
    status: PodStatusFacts = NO_STATUS

    @property
    def phase(self) -> str:
        """The phase; empty when nobody said."""
        return self.status.phase or ""

    @property
    def ready(self) -> bool | None:
        """Whether the pod serves; ``None`` when nobody said."""
        for condition in self.status.conditions or ():
            if condition.type == "Ready":
                return condition.status == "True"
        return None


_DECODER: Final = msgspec.json.Decoder(Facts)
_POD_DECODER: Final = msgspec.json.Decoder(PodRecordFacts)


def decode_facts(body: bytes) -> Facts:
    """The facts of any object; malformed ones are refused with the field's path."""
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise refusal(error, body, "object") from error


def decode_pod_facts(body: bytes) -> PodRecordFacts:
    """The facts of a pod; malformed ones are refused with the field's path."""
    try:
        return _POD_DECODER.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise refusal(error, body, "pod") from error


def has_finalizers(body: bytes) -> bool:
    """Whether a deletion must wait. Most bodies do not even have the word."""
    return b'"finalizers"' in body and bool(decode_facts(body).metadata.finalizers)
