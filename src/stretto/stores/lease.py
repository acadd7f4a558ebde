"""Leader election by a Lease: at most one of several may decide, most of the time.

A lease is no fence: a leader that was stopped in the middle of a write can wake up when another one
leads. So three things stand in for it. A leader sends nothing once it has not renewed for
``renew_within`` seconds; a standby takes the lease only when it has seen no change of it for all of
``duration`` seconds, which is longer by the longest write in flight; and each write carries the
conditions that the API checks. Whoever takes the lease lists afresh before it decides.

Only the monotonic clock counts: the times written into the object are for people, and a wall clock
that jumps, here or on another machine, changes nothing.
"""

from collections.abc import Callable
from enum import Enum
from math import ceil
from typing import Any, Final, Self

import msgspec

from stretto.api.types.core import Lease
from stretto.api.wire.kinds import LEASE
from stretto.base.clock import Clock, timestamp
from stretto.base.errors import InputError, NotAllowedError, StrettoError
from stretto.stores.store import Patch, Record, Reply, StatusReason, Store, WriteOutcome

_LOOK: Final = 0.05
"""Seconds between looks at whether a write is still under way."""
LONGEST_WRITE: Final = 6.0
"""Seconds from the moment a write is begun until it has landed or never will."""
GRANTED_WITHIN: Final = 5.0
"""Seconds after which a right is taken to be missing: a server that has just started turns
everybody away until it has read who may do what."""


class LeaseConfig(msgspec.Struct, frozen=True):
    """Which lease, whose, and how long it lasts."""

    #: Namespace of the Lease.
    namespace: str
    #: Its name: one for each role, and one for each shard.
    name: str
    #: Who we are; no two processes have the same.
    identity: str
    #: Seconds without a change after which a standby takes it.
    duration: float = 15.0
    #: Seconds after its last renewal at which a leader stops writing.
    renew_within: float = 9.0
    #: Seconds between tries.
    every: float = 2.0
    #: Seconds that a write may be in flight.
    longest_write: float = LONGEST_WRITE

    @classmethod
    def of_duration(cls, duration: float, namespace: str, name: str, identity: str) -> Self:
        """A lease of so many seconds: what is left beside the longest write is for renewing."""
        within = duration - LONGEST_WRITE
        every = min(2.0, within / 4)
        return cls(namespace, name, identity, duration, renew_within=within, every=every)

    def __post_init__(self) -> None:
        if self.renew_within + self.longest_write > self.duration:
            raise InputError(
                "lease duration",
                self.duration,
                f"at least {self.renew_within + self.longest_write:g} seconds: what a leader may "
                "still write, and the longest write in flight",
            )


class LeaseState(Enum):
    """Where somebody stands."""

    #: Somebody else leads, or nobody is known to.
    STANDBY = "standby"
    LEADER = "leader"


_DECODER: Final = msgspec.json.Decoder(Lease)


class LeaderElector:
    """One candidate; ``tick`` does the I/O, and everything else is answered from memory."""

    def __init__(self, store: Store, config: LeaseConfig, clock: Clock) -> None:
        """A standby that has seen nothing."""
        #: Which lease, and whose.
        self.config = config
        #: The holder as last seen; empty when nobody is.
        self.holder = ""
        #: Why the last try that is over came to nothing; empty when it went well.
        self.trouble = "it has not been tried yet"
        #: The right that was missing at every try so far; ``None`` once one has gone well.
        self.barred: NotAllowedError | None = None
        self._store = store
        self._clock = clock
        self._is_welcome = False
        self._refused_since = float("inf")
        self._valid_until = float("-inf")
        self._next = float("-inf")
        #: Version of the lease as last seen, and when it was first seen so.
        self._seen: tuple[int, float] = (-1, 0.0)

    def standing(self, now: float) -> LeaseState:
        """Where we stand at a monotonic time."""
        return LeaseState.LEADER if now < self._valid_until else LeaseState.STANDBY

    def leads(self) -> bool:
        """Whether a write may be begun now."""
        return self._clock.monotonic() < self._valid_until

    def next_due(self) -> float:
        """Monotonic time of the next try."""
        return self._next

    def tick(self) -> LeaseState:
        """Try to take or to renew the lease."""
        began = self._clock.monotonic()
        self._next = began + self.config.every
        try:
            record = self._store.get(LEASE, self.config.namespace, self.config.name)
            trouble = self._act(record, began)
        except StrettoError as error:
            trouble = str(error)
            if isinstance(error, NotAllowedError):
                self._note_barred(error)
        if not trouble:
            self._is_welcome, self.barred = True, None
        self.trouble = trouble  # others read it while the next try is under way
        return self.standing(self._clock.monotonic())

    def release(self, is_quiet: Callable[[], bool] = lambda: True) -> None:
        """Give the lease up, so that a standby need not wait for its end.

        Whoever takes it decides at once, so it is given up when no write is under way any more:
        ``is_quiet`` says so, or the longest write has landed by now or never will.
        """
        if not self.leads():
            return
        self._valid_until = float("-inf")
        until = self._clock.monotonic() + self.config.longest_write
        while not is_quiet() and self._clock.monotonic() < until:
            self._clock.sleep(_LOOK)
        try:
            record = self._store.get(LEASE, self.config.namespace, self.config.name)
            if record is not None and _decoded(record).spec.holder_identity == self.config.identity:
                self._write(record, {"holderIdentity": ""})
        except StrettoError as error:
            self.trouble = str(error)

    # ------------------------------------------------------------ one try

    def _note_barred(self, error: NotAllowedError) -> None:
        """What is missing from the start will not come by itself; what goes later may come back."""
        now = self._clock.monotonic()
        self._refused_since = min(self._refused_since, now)
        is_final = not self._is_welcome and now - self._refused_since >= GRANTED_WITHIN
        self.barred = error if is_final else None

    def _act(self, record: Record | None, began: float) -> str:
        """What is done with the lease as it was found; what came in its way."""
        if record is None:
            return self._settle(self._create(), began)
        spec = _decoded(record).spec
        self.holder = spec.holder_identity
        if record.version != self._seen[0]:  # it may have changed while it was being read
            self._seen = (record.version, self._clock.monotonic())
        if self.holder == self.config.identity:
            return self._settle(self._write(record, self._times()), began)
        self._valid_until = float("-inf")
        lasts = max(self.config.duration, float(spec.lease_duration_seconds or 0))
        if self.holder and began - self._seen[1] < lasts:
            return ""
        taken = {
            "holderIdentity": self.config.identity,
            "leaseDurationSeconds": ceil(self.config.duration),
            "leaseTransitions": spec.lease_transitions + 1,
            "acquireTime": self._wall(),
        }
        return self._settle(self._write(record, {**taken, **self._times()}), began)

    def _settle(self, reply: Reply, began: float) -> str:
        """Lead from the moment the request was begun: the standby's wait starts later."""
        if reply.outcome is WriteOutcome.OK:
            self.holder = self.config.identity
            self._valid_until = began + self.config.renew_within
            if reply.record is not None:
                self._seen = (reply.record.version, began)
            return ""
        if reply.code is StatusReason.FORBIDDEN:
            what, _, reason = reply.message.partition(" is not allowed: ")
            self._note_barred(NotAllowedError(what, reason))
        if reply.outcome is WriteOutcome.CONFLICT:
            self._valid_until = float("-inf")
        return reply.message

    def _create(self) -> Reply:
        config = self.config
        spec = {
            "holderIdentity": config.identity,
            "leaseDurationSeconds": ceil(config.duration),
            "leaseTransitions": 0,
            "acquireTime": self._wall(),
            **self._times(),
        }
        body = {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {"namespace": config.namespace, "name": config.name},
            "spec": spec,
        }
        return self._store.create(LEASE, [msgspec.json.encode(body)])[0]

    def _write(self, record: Record, spec: dict[str, Any]) -> Reply:
        """Change the lease, if it is still as it was seen."""
        patch = Patch(
            record.namespace, record.name, {"spec": spec}, version=record.version, uid=record.uid
        )
        return self._store.patch(LEASE, [patch])[0]

    def _times(self) -> dict[str, Any]:
        return {"renewTime": self._wall()}

    def _wall(self) -> str:
        """The wall's time with six decimals, as a MicroTime wants it."""
        text = timestamp(self._clock.now())
        return text if "." in text else text.replace("Z", ".000000Z")


def _decoded(record: Record) -> Lease:
    try:
        return _DECODER.decode(record.body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        where = f"Lease {record.namespace}/{record.name}"
        raise InputError(where, None, f"a lease: {error}", "delete it") from error
