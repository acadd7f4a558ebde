"""The store for controllers and the scheduler: creations and deletions go through the API."""

from collections.abc import Sequence

import msgspec

from stretto.api.wire.kinds import EVENT, Kind
from stretto.stores.store import Deletion, Replies, Reply, StatusReason, Store, WriteOutcome
from stretto.stores.wrapper import StoreWrapper
from stretto.web.api.failures import ApiError
from stretto.web.api.internal import ApiClient

_OUTCOMES = {
    "AlreadyExists": (WriteOutcome.CONFLICT, StatusReason.ALREADY_EXISTS),
    "Conflict": (WriteOutcome.CONFLICT, StatusReason.CONFLICT),
    "NotFound": (WriteOutcome.REFUSED, StatusReason.NOT_FOUND),
    "Forbidden": (WriteOutcome.REFUSED, StatusReason.FORBIDDEN),
    "Invalid": (WriteOutcome.REFUSED, StatusReason.INVALID),
    "ServiceUnavailable": (WriteOutcome.REFUSED, StatusReason.UNAVAILABLE),
    "TooManyRequests": (WriteOutcome.REFUSED, StatusReason.TOO_MANY_REQUESTS),
}


class AdmittingStore(StoreWrapper):
    """Store wrapper that applies the defaults and the admission of the API to new objects."""

    def __init__(self, inner: Store, client: ApiClient) -> None:
        """Wrap the store of an API server."""
        super().__init__(inner)
        self._store = inner
        self._client = client

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Create objects as a client of the API."""
        if kind == EVENT or not self._client.serves(kind):
            return self._store.create(kind, bodies)
        return [self._created(kind, body) for body in bodies]

    def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        """Delete objects as a client of the API."""
        if not self._client.serves(kind):
            return self._store.delete(kind, deletions)
        return [self._deleted(kind, each) for each in deletions]

    def _created(self, kind: Kind, body: bytes) -> Reply:
        try:
            item = self._client.create(kind, msgspec.json.decode(body))
        except ApiError as error:
            return _refused(error)
        metadata = item["metadata"]
        record = self._store.get(kind, metadata.get("namespace", ""), metadata["name"])
        return Reply(WriteOutcome.OK, record=record)

    def _deleted(self, kind: Kind, deletion: Deletion) -> Reply:
        record = self._store.get(kind, deletion.namespace, deletion.name)
        if record is not None and deletion.uid and record.uid != deletion.uid:
            return Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT, "another object", record)
        try:
            self._client.delete(kind, deletion.namespace, deletion.name)
        except ApiError as error:
            return _refused(error)
        return Reply(WriteOutcome.OK, record=record)


def _refused(error: ApiError) -> Reply:
    outcome, code = _OUTCOMES.get(error.reason, (WriteOutcome.REFUSED, StatusReason.INTERNAL))
    return Reply(outcome, code, error.message)
