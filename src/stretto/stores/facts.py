"""The fields of a body that selections, deletions and budgets read.

A body is decoded only when needed. Many records share a body, so callers that read many records
cache the results by body.
"""

from typing import Final

import msgspec

from stretto.api.wire.refusals import refusal


class OwnerFacts(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An owner, as far as disruption budgets need it."""

    #: Kind of the owner.
    kind: str = ""
    #: Name of the owner.
    name: str = ""
    #: True if this owner manages the object.
    controller: bool | None = None


class MetaFacts(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Facts of any object's metadata."""

    #: Labels, for label selectors.
    labels: dict[str, str] | None = None
    #: Annotations, only checked for validity; binds write more of them.
    annotations: dict[str, str] | None = None
    #: Finalizers that must be removed before a deletion is final.
    finalizers: tuple[str, ...] | None = None
    #: Seconds until a marked object is deleted; the kubelet sets 0 when it has stopped the pod.
    deletion_grace_period_seconds: int | None = None
    #: Owners of the object.
    owner_references: tuple[OwnerFacts, ...] | None = None


class Facts(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Facts of any object."""

    #: Identity and bookkeeping.
    metadata: MetaFacts


class ConditionFacts(msgspec.Struct, frozen=True, gc=False):
    """One condition of a pod."""

    #: Condition type.
    type: str = ""
    #: ``True``, ``False`` or ``Unknown``.
    status: str = ""


class PodStatusFacts(msgspec.Struct, frozen=True, gc=False):
    """Facts of a pod's status."""

    #: ``Pending``, ``Running``, ``Succeeded``, ``Failed`` or ``Unknown``; empty if not reported.
    phase: str | None = None
    #: Conditions of the pod.
    conditions: tuple[ConditionFacts, ...] | None = None


NO_STATUS: Final = PodStatusFacts()


class PodRecordFacts(msgspec.Struct, frozen=True, gc=False):
    """Facts of a pod; its node is a field of the record."""

    #: Identity and bookkeeping.
    metadata: MetaFacts
    #: Phase and conditions.
    status: PodStatusFacts = NO_STATUS

    @property
    def phase(self) -> str:
        """The phase; empty if not reported."""
        return self.status.phase or ""

    @property
    def ready(self) -> bool | None:
        """True if the pod is ready; ``None`` if not reported."""
        for condition in self.status.conditions or ():
            if condition.type == "Ready":
                return condition.status == "True"
        return None


_GRACE: Final = b'"deletionGracePeriodSeconds"'
_DECODER: Final = msgspec.json.Decoder(Facts)
_POD_DECODER: Final = msgspec.json.Decoder(PodRecordFacts)


def decode_facts(body: bytes) -> Facts:
    """The facts of any object.

    Raises:
        InputError: the body is malformed; the error contains the path of the field.
    """
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise refusal(error, body, "object") from error


def decode_pod_facts(body: bytes) -> PodRecordFacts:
    """The facts of a pod.

    Raises:
        InputError: the body is malformed; the error contains the path of the field.
    """
    try:
        return _POD_DECODER.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise refusal(error, body, "pod") from error


def has_finalizers(body: bytes) -> bool:
    """Return whether finalizers or a grace period delay a deletion.

    The check is fast, because most bodies contain neither word.
    """
    if b'"finalizers"' not in body and _GRACE not in body:
        return False
    metadata = decode_facts(body).metadata
    return bool(metadata.finalizers or metadata.deletion_grace_period_seconds)
