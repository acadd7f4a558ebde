"""Writes to members: each is sent once, and its reply is read when it has arrived.

No controller waits for a member. The object of an answered write is reconciled again. A member
therefore delays only its own writes, and the number of its writes in flight is bounded.
"""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Final

from stretto.api.types.federation.objects import PropagationStatus as Status
from stretto.base.errors import StrettoError
from stretto.federation.controllers.keys import DeliveryPlace, FederatedKey
from stretto.federation.controllers.propagation.attempts import WriteAttempts
from stretto.reconcile.cache import StoreCache, StoredObject
from stretto.stores.store import Replies, Reply, StatusReason, Write, WriteOutcome, WriteVerb

MOST_IN_FLIGHT: Final = 256
"""Maximum number of writes in flight to one member; further objects wait."""

_REPEATED: Final = "it is repeated once the cluster answers"
_CAUSES: Final = {
    StatusReason.TOO_MANY_REQUESTS: (
        "it is repeated; if this persists, give the federation a priority level of its own there"
    ),
    StatusReason.UNAVAILABLE: _REPEATED,
    StatusReason.INTERNAL: "it is repeated; see the log of the API server there",
    StatusReason.FORBIDDEN: (
        "give the service account of the federation this right there, or renew the credentials"
        " in the secret of the cluster"
    ),
    StatusReason.CONFLICT: "it is repeated with the present version",
}
"""Remedies for errors that do not depend on the object."""
Announce = Callable[[FederatedKey], None]
"""Callback on any thread with an object whose write is answered."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A write to a member, and the states that follow from its reply."""

    #: The write of one object.
    write: Write
    #: Verb, kind and name of the object, for messages.
    what: str
    #: State of the object while the write is in flight.
    meanwhile: Status
    #: State after success; ``None`` if the object is deleted.
    done: Status | None
    #: State after an error.
    failed: Status
    #: Remedy for an error.
    hint: str = ""
    #: Digest of the input, which is stored with the written version.
    input: str = ""

    @property
    def deletes(self) -> bool:
        """True if the write deletes the object."""
        return self.write.verb is WriteVerb.DELETE


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """Reply to a write."""

    #: The write.
    delivery: Delivery
    #: State of the object.
    status: Status | None
    #: Error of the member and its remedy; empty after success.
    problem: str = ""
    #: The object after a success; ``None`` if the member did not return it.
    written: StoredObject | None = None


@dataclass(frozen=True, slots=True)
class _Sent:
    """A write in flight."""

    delivery: Delivery
    future: Future[Replies]
    since: float


class MemberDeliveries:
    """The writes in flight, at most one for each object in each cluster."""

    def __init__(self, announce: Announce, most: int = MOST_IN_FLIGHT) -> None:
        """Start without writes in flight.

        Args:
            announce: called with each object whose write is answered.
            most: maximum number of writes in flight to one member.
        """
        #: Number of replies by cluster, verb and outcome.
        self.answers: Counter[tuple[str, str, str]] = Counter()
        #: Writes that may have taken effect and are not observed yet.
        self.attempts = WriteAttempts()
        self._announce = announce
        self._most = most
        self._sent: dict[DeliveryPlace, _Sent] = {}
        self._counts: Counter[str] = Counter()

    def in_flight(self, cluster: str) -> int:
        """Number of writes in flight to a member."""
        return self._counts[cluster]

    @property
    def unanswered(self) -> bool:
        """True if any write is in flight."""
        return any(not each.future.done() for each in self._sent.values())

    def meanwhile(self, place: DeliveryPlace) -> Status | None:
        """The state of an object while its write is in flight; ``None`` without a write."""
        sent = self._sent.get(place)
        return sent.delivery.meanwhile if sent is not None and not sent.future.done() else None

    def since(self, key: FederatedKey, clusters: list[str]) -> float | None:
        """Monotonic time of the oldest unanswered write of an object; ``None`` if there is none."""
        found = (self._sent.get(DeliveryPlace(each, key)) for each in clusters)
        return min((each.since for each in found if each and not each.future.done()), default=None)

    def answer(self, place: DeliveryPlace, member: StoreCache) -> DeliveryResult | None:
        """Return the reply to the last write once; ``None`` if there is none."""
        sent = self._sent.get(place)
        if sent is None or not sent.future.done():
            return None
        self.discard(place)
        return self._result(sent, place.cluster, member)

    def discard(self, place: DeliveryPlace) -> None:
        """Drop the answered write of a deleted object; a write in flight is announced later."""
        sent = self._sent.get(place)
        if sent is not None and sent.future.done():
            del self._sent[place]
            self._counts[place.cluster] -= 1
            self.attempts.answered(place, _reply(sent.future))

    def forget(self, cluster: str) -> None:
        """Drop the writes to a member whose connection is closed."""
        for place in [each for each in self._sent if each.cluster == cluster]:
            del self._sent[place]
        del self._counts[cluster]
        self.attempts.forget(cluster)

    def send(
        self, place: DeliveryPlace, member: StoreCache, delivery: Delivery, now: float
    ) -> DeliveryResult:
        """Send a write unless too many are in flight; its result, or the state in flight."""
        waiting = DeliveryResult(delivery, delivery.meanwhile)
        if self._counts[place.cluster] >= self._most:
            return waiting
        self.attempts.begin(place, delivery.write)
        try:
            future = member.store.begin(delivery.write)
        except (StrettoError, RuntimeError) as error:  # the connection is closed
            future = Future()
            future.set_result([_unanswered(str(error))])
        self._sent[place] = _Sent(delivery, future, now)
        self._counts[place.cluster] += 1
        if future.done():
            return self.answer(place, member) or waiting
        future.add_done_callback(lambda _: self._announce(place.key))
        return waiting

    def _result(self, sent: _Sent, cluster: str, member: StoreCache) -> DeliveryResult:
        """The result of a reply; a success updates the cache of the member at once."""
        delivery, reply = sent.delivery, _reply(sent.future)
        self.answers[cluster, delivery.write.verb.value, reply.outcome.value] += 1
        gone = delivery.deletes and reply.code is StatusReason.NOT_FOUND
        if reply.outcome is WriteOutcome.OK or gone:
            record = reply.record if not delivery.deletes else None
            if record is not None:
                member.note(record)
            written = StoredObject(record, member.name) if record is not None else None
            return DeliveryResult(delivery, delivery.done, written=written)
        if delivery.write.verb is WriteVerb.CREATE and reply.code is StatusReason.ALREADY_EXISTS:
            return DeliveryResult(delivery, Status.ALREADY_EXISTS)
        text = f"{delivery.what}: {reply.message or reply.code.value}"
        hint = _REPEATED if reply.outcome is WriteOutcome.UNKNOWN else _CAUSES.get(reply.code)
        hint = hint or delivery.hint
        text = f"{text}; {hint}" if hint else text
        return DeliveryResult(delivery, delivery.failed, text)


def _reply(future: Future[Replies]) -> Reply:
    """The reply to a single write; an error counts as an unknown outcome."""
    try:
        return future.result()[0]
    except (StrettoError, CancelledError, OSError) as error:
        return _unanswered(str(error) or "the connection was closed")


def _unanswered(message: str) -> Reply:
    return Reply(WriteOutcome.UNKNOWN, StatusReason.UNAVAILABLE, message)
