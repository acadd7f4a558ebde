"""Admission of objects that are created in a store, with the semantics of an API server.

An embedded store accepts objects unchanged. Callers that act as an API server pass new objects
through this step first.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from stretto.api.admission.admit import admit, has_step
from stretto.api.admission.request import AdmissionRequest, JsonObject
from stretto.api.codec import parse_object, without_nulls
from stretto.api.wire.kinds import (
    LIMIT_RANGE,
    POD,
    PRIORITY_CLASS,
    RESOURCE_QUOTA,
    RUNTIME_CLASS,
    Kind,
)
from stretto.inputs.objects.equal_specs import PodTemplateAdmission
from stretto.stores.store import ListOptions, Store

_READ_FOR_PODS: Final = (LIMIT_RANGE, PRIORITY_CLASS, RESOURCE_QUOTA, RUNTIME_CLASS)


class StoredObjects:
    """The objects of a store as input of admission."""

    def __init__(self, store: Store) -> None:
        """Initialize with a store."""
        self._store = store

    def get(self, kind: Kind, namespace: str, name: str) -> JsonObject | None:
        """One object, or ``None``."""
        record = self._store.get(kind, namespace, name)
        return None if record is None else parse_object(record.body, name)

    def list(self, kind: Kind, namespace: str = "") -> Iterator[JsonObject]:
        """The objects of a kind; only those of a namespace if one is given."""
        for record in self._store.list(kind, ListOptions(namespace=namespace)).records:
            yield parse_object(record.body, record.name)


class StoreAdmission:
    """Admits the objects that are created in one store."""

    def __init__(self, store: Store) -> None:
        """Initialize with the store against whose objects new objects are admitted."""
        self._view = StoredObjects(store)
        self._plain = PodTemplateAdmission()

    def admitted(self, kind: Kind, bodies: Sequence[bytes]) -> list[bytes]:
        """Objects as a cluster would store them; kinds without defaults stay unchanged.

        Raises:
            InputError: a field is invalid.
            ForbiddenError: the objects of the store do not allow an object.
        """
        if not has_step(kind):
            return list(bodies)
        if kind != POD:
            return [msgspec.json.encode(self._admitted(kind, body)) for body in bodies]
        read = [each for each in _READ_FOR_PODS if any(True for _ in self._view.list(each))]
        apart = LIMIT_RANGE in read or RESOURCE_QUOTA in read
        pods = PodTemplateAdmission(apart=apart) if read else self._plain
        return [pods.body(body, self._admitted_pod) or body for body in bodies]

    def _admitted_pod(self, body: JsonObject) -> JsonObject:
        return admit(AdmissionRequest(POD, body), self._view).body

    def _admitted(self, kind: Kind, body: bytes) -> JsonObject:
        parsed: JsonObject = without_nulls(parse_object(body, kind.kind))
        return admit(AdmissionRequest(kind, parsed), self._view).body
