"""Writes to members that may have taken effect and are not seen yet.

A write is in flight, or its answer is lost. It names the version that it replaces. Once another
version is seen, it has taken effect, or never will. An apply that names no version may take effect
at any time: it is not one of them.
"""

from typing import NamedTuple

import msgspec

from stretto.federation.controllers.keys import DeliveryPlace
from stretto.reconcile.cache import Fields, StoredObject
from stretto.stores.store import Patch, Reply, Update, Write, WriteOutcome


class _Attempt(NamedTuple):
    """One write."""

    #: Version of the object that it replaces; 0 for none.
    version: int
    #: JSON of the object, or of the fields of it, that was sent.
    body: bytes


class WriteAttempts:
    """The last write of each object that names a version, until its answer or effect is seen."""

    def __init__(self) -> None:
        self._attempts: dict[DeliveryPlace, _Attempt] = {}

    def begin(self, place: DeliveryPlace, write: Write) -> None:
        """A write of one object is sent; a deletion leaves no object to see."""
        (item,) = write.items
        self._attempts.pop(place, None)
        if isinstance(item, Update):
            self._attempts[place] = _Attempt(item.version or 0, item.body)
        elif isinstance(item, Patch) and item.version is not None:
            self._attempts[place] = _Attempt(item.version, msgspec.json.encode(item.patch))
        elif isinstance(item, bytes):
            self._attempts[place] = _Attempt(0, item)

    def answered(self, place: DeliveryPlace, reply: Reply) -> None:
        """The answer to the last write is there; an unknown outcome says nothing."""
        if reply.outcome is not WriteOutcome.UNKNOWN:
            self._attempts.pop(place, None)

    def unseen(self, place: DeliveryPlace, present: StoredObject | None) -> Fields | None:
        """What may have taken effect and is not seen yet; ``None`` for nothing.

        Args:
            place: the object and its cluster.
            present: the object that is seen there; ``None`` for none.
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
        """The connection to a member is closed: what it holds is read again."""
        for place in [each for each in self._attempts if each.cluster == cluster]:
            del self._attempts[place]
