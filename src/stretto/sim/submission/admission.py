"""Admission of objects that are created in a store, as an API server does it.

An embedded store takes objects as they are. Callers that play the role of an API server pass what
they create through this step first.
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
from stretto.inputs.objects.admission import PodTemplateAdmission
from stretto.stores.store import ListOptions, Store

_READ_FOR_PODS: Final = (LIMIT_RANGE, PRIORITY_CLASS, RESOURCE_QUOTA, RUNTIME_CLASS)


class StoredObjects:
    """The objects of a store, as admission reads them."""

    def __init__(self, store: Store) -> None:
        """View a store."""
        self._store = store

    def get(self, kind: Kind, namespace: str, name: str) -> JsonObject | None:
        """One object, or ``None``."""
        record = self._store.get(kind, namespace, name)
        return None if record is None else parse_object(record.body, name)

    def list(self, kind: Kind, namespace: str = "") -> Iterator[JsonObject]:
        """The objects of a kind; of one namespace unless it is empty."""
        for record in self._store.list(kind, ListOptions(namespace=namespace)).records:
            yield parse_object(record.body, record.name)


class StoreAdmission:
    """Admits the objects that are created in one store."""

    def __init__(self, store: Store) -> None:
        """Admit objects against those of a store."""
        self._view = StoredObjects(store)
        self._plain = PodTemplateAdmission(self._admitted_pod)

    def admitted(self, kind: Kind, bodies: Sequence[bytes]) -> list[bytes]:
        """Objects as a cluster would hold them; kinds without defaults stay as they are.

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
        pods = PodTemplateAdmission(self._admitted_pod, apart=apart) if read else self._plain
        return [pods.body(body) or body for body in bodies]

    def _admitted_pod(self, body: JsonObject) -> JsonObject:
        return admit(AdmissionRequest(POD, body), self._view).body

    def _admitted(self, kind: Kind, body: bytes) -> JsonObject:
        parsed: JsonObject = without_nulls(parse_object(body, kind.kind))
        return admit(AdmissionRequest(kind, parsed), self._view).body
