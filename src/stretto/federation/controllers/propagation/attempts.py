"""Writes to members that may have taken effect and are not observed yet.

Such a write is in flight, or its reply is lost. It names the version that it replaces. Once another
version is observed, the write has taken effect, or never will. An apply without a version may take
effect at any time, so it is not recorded here.
"""

from typing import NamedTuple

import msgspec

from stretto.federation.controllers.keys import DeliveryPlace
from stretto.reconcile.cache import Fields, StoredObject
from stretto.stores.store import Patch, Reply, Update, Write, WriteOutcome


class _Attempt(NamedTuple):
    """A write."""

    #: Version of the object that it replaces; 0 for none.
    version: int
    #: JSON of the object, or of its fields, that was sent.
    body: bytes


class WriteAttempts:
    """The last versioned write of each object, until its reply or effect is observed."""

    def __init__(self) -> None:
        self._attempts: dict[DeliveryPlace, _Attempt] = {}

    def begin(self, place: DeliveryPlace, write: Write) -> None:
        """Record that a write of one object is sent; a deletion leaves no object to observe."""
        (item,) = write.items
        self._attempts.pop(place, None)
        if isinstance(item, Update):
            self._attempts[place] = _Attempt(item.version or 0, item.body)
        elif isinstance(item, Patch) and item.version is not None:
            self._attempts[place] = _Attempt(item.version, msgspec.json.encode(item.patch))
        elif isinstance(item, bytes):
            self._attempts[place] = _Attempt(0, item)

    def answered(self, place: DeliveryPlace, reply: Reply) -> None:
        """Remove the record of an answered write; an unknown outcome keeps it."""
        if reply.outcome is not WriteOutcome.UNKNOWN:
            self._attempts.pop(place, None)

    def unseen(self, place: DeliveryPlace, present: StoredObject | None) -> Fields | None:
        """Fields that may have taken effect and are not observed yet; ``None`` if there are none.

        Args:
            place: the object and its cluster.
            present: the object that is observed there; ``None`` if there is none.
        """
        attempt = self._attempts.get(place)
        if attempt is None:
            return None
        if attempt.version == (present.record.version if present is not None else 0):
            sent: Fields = msgspec.json.decode(attempt.body)
            return sent
        del self._attempts[place]
        return None

    def forget(self, cluster: str) -> None:
        """Drop the records of a member whose connection is closed: its objects are read again."""
        for place in [each for each in self._attempts if each.cluster == cluster]:
            del self._attempts[place]
