"""Leader election by a Lease: at most one of several candidates leads, almost always.

A lease does not fence: a leader that is suspended during a write may resume after another candidate
leads. Four rules compensate. A leader sends nothing once it has not renewed for ``renew_within``
seconds. A standby acquires the lease only after ``duration`` seconds without a change, which is at
least ``renew_within`` plus the longest write in flight. Each write contains the conditions that the
API checks. A new leader lists again before it decides.

Only the monotonic clock is used. The timestamps in the object are for users, and a jump of the wall
clock, here or on another machine, has no effect.
"""

from collections.abc import Callable
from enum import Enum
from math import ceil
from typing import Any, Final, NamedTuple, Protocol, Self

import msgspec

from stretto.api.types.core import Lease, LeaseSpec
from stretto.api.wire.kinds import LEASE
from stretto.base.clock import Clock, timestamp
from stretto.base.errors import InputError, NotAllowedError, StrettoError
from stretto.stores.store import Patch, Record, Reply, StatusReason, Store, WriteOutcome

_LOOK: Final = 0.05
"""Seconds between checks whether a write is still in flight."""
LONGEST_WRITE: Final = 6.0
"""Seconds after which a write has either taken effect or never will."""
GRANTED_WITHIN: Final = 5.0
"""Seconds after which a permission counts as missing.

A server that has just started refuses all requests until it has loaded its RBAC rules.
"""


class LeaseConfig(msgspec.Struct, frozen=True):
    """Name, identity and timing of a lease."""

    #: Namespace of the Lease.
    namespace: str
    #: Name of the Lease: one for each role, and one for each shard.
    name: str
    #: Identity of this process; unique.
    identity: str
    #: Seconds without a change after which a standby acquires the lease.
    duration: float = 15.0
    #: Seconds after its last renewal at which a leader stops writing.
    renew_within: float = 9.0
    #: Seconds between attempts.
    every: float = 2.0
    #: Maximum seconds that a write is in flight.
    longest_write: float = LONGEST_WRITE

    @classmethod
    def of_duration(cls, duration: float, namespace: str, name: str, identity: str) -> Self:
        """Create the configuration of a lease duration.

        ``renew_within`` is the duration minus the longest write.
        """
        within = duration - LONGEST_WRITE
        every = min(2.0, within / 4)
        return cls(namespace, name, identity, duration, renew_within=within, every=every)

    def __post_init__(self) -> None:
        if self.renew_within + self.longest_write > self.duration:
            raise InputError(
                "lease duration",
                self.duration,
                f"at least {self.renew_within + self.longest_write:g} seconds: the time in which a "
                "leader may write, plus the longest write in flight",
            )


class LeaseGuard(Protocol):
    """Further condition of leadership, beyond the lease."""

    def before(self) -> str:
        """Return why a candidate must not renew its lease; empty if it may."""
        ...

    def after(self) -> str:
        """Return why a candidate must not lead after a renewal; empty if it may."""
        ...

    def clean(self) -> str:
        """Delete what a leader no longer needs; return what failed, empty on success."""
        ...


class LeaseState(Enum):
    """State of a candidate."""

    #: Another candidate leads, or no leader is known.
    STANDBY = "standby"
    LEADER = "leader"


_DECODER: Final = msgspec.json.Decoder(Lease)


class LeaseClaim(NamedTuple):
    """Claim of the holder of a Lease, as a candidate reads it."""

    #: Holder and duration; the holder of a malformed Lease is ``unknown``.
    spec: LeaseSpec
    #: Seconds without a change after which the lease is free.
    lasts: float
    #: Why the Lease cannot be read; empty for a well-formed one.
    problem: str = ""


def lease_claim(record: Record, duration: float) -> LeaseClaim:
    """Read the claim of a Lease.

    A Lease without a duration, and a malformed one, last as long as those of the candidate. So
    none is held forever, and a live holder with the same duration renews it in time.

    Args:
        record: the Lease.
        duration: duration of the candidate's lease in seconds, the minimum.
    """
    try:
        spec = _DECODER.decode(record.body).spec
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        where = f"Lease {record.namespace}/{record.name} is malformed ({error})"
        problem = f"{where}: it is free after {duration:g} s without a change"
        return LeaseClaim(LeaseSpec(holder_identity="unknown"), duration, problem)
    return LeaseClaim(spec, max(duration, float(spec.lease_duration_seconds or 0)))


class LeaderElector:
    """One candidate; ``tick`` does the I/O, all other methods answer from memory."""

    def __init__(
        self, store: Store, config: LeaseConfig, clock: Clock, guard: LeaseGuard | None = None
    ) -> None:
        """Create a standby that has read nothing; ``guard``: a further condition of leadership."""
        #: Name, identity and timing.
        self.config = config
        #: Last seen holder; empty if there is none.
        self.holder = ""
        #: Error of the last attempt; empty if it succeeded.
        self.trouble = "no attempt has been made yet"
        #: The permission missing at every attempt so far; ``None`` after a success.
        self.barred: NotAllowedError | None = None
        self._store = store
        self._clock = clock
        self._guard = guard
        self._is_welcome = False
        self._refused_since = float("inf")
        self._valid_until = float("-inf")
        self._next = float("-inf")
        #: Last seen version of the lease, and the time at which it was first seen.
        self._seen: tuple[int, float] = (-1, 0.0)

    def standing(self, now: float) -> LeaseState:
        """State at a monotonic time."""
        return LeaseState.LEADER if now < self._valid_until else LeaseState.STANDBY

    def leads(self) -> bool:
        """Return whether a write may be sent now."""
        return self._clock.monotonic() < self._valid_until

    def next_due(self) -> float:
        """Monotonic time of the next attempt."""
        return self._next

    def tick(self) -> LeaseState:
        """Try to acquire or to renew the lease; return the new state."""
        began = self._clock.monotonic()
        self._next = began + self.config.every
        try:
            trouble = self._guard.before() if self._guard is not None else ""
            if trouble:
                self._valid_until = float("-inf")
            else:
                record = self._store.get(LEASE, self.config.namespace, self.config.name)
                trouble = self._act(record, began)
        except StrettoError as error:
            trouble = str(error)
            if isinstance(error, NotAllowedError):
                self._note_barred(error)
        if not trouble:
            self._is_welcome, self.barred = True, None
            if self._guard is not None and self.leads():
                trouble = self._guard.clean()
        self.trouble = trouble  # other threads read it during the next attempt
        return self.standing(self._clock.monotonic())

    def release(self, is_quiet: Callable[[], bool] = lambda: True) -> None:
        """Release the lease, so that a standby need not wait until it expires.

        The next leader decides immediately. Therefore the lease is released only once no write is
        in flight: ``is_quiet`` returns True, or the time of the longest write has passed.
        """
        if not self.leads():
            return
        self._valid_until = float("-inf")
        own, until = self.config.identity, self._clock.monotonic() + self.config.longest_write
        while not is_quiet() and self._clock.monotonic() < until:
            self._clock.sleep(_LOOK)
        try:
            record = self._store.get(LEASE, self.config.namespace, self.config.name)
            if record is not None and self._claim(record).spec.holder_identity == own:
                self._write(record, {"holderIdentity": None})  # a server refuses an empty one
        except StrettoError as error:
            self.trouble = str(error)

    # ------------------------------------------------------------ one attempt

    def _note_barred(self, error: NotAllowedError) -> None:
        """Record a missing permission: final if missing from the start; a lost one may return."""
        now = self._clock.monotonic()
        self._refused_since = min(self._refused_since, now)
        is_final = not self._is_welcome and now - self._refused_since >= GRANTED_WITHIN
        self.barred = error if is_final else None

    def _act(self, record: Record | None, began: float) -> str:
        """Act on the lease that was read; return the error, empty on success."""
        if record is None:
            return self._settle(self._create(), began)
        spec, lasts, malformed = self._claim(record)
        self.holder = spec.holder_identity
        if record.version != self._seen[0]:  # the lease may have changed while it was being read
            self._seen = (record.version, self._clock.monotonic())
        if self.holder == self.config.identity:
            return self._settle(self._write(record, self._times()), began)
        self._valid_until = float("-inf")
        if self.holder and began - self._seen[1] < lasts:
            return malformed
        taken = {
            "holderIdentity": self.config.identity,
            "leaseDurationSeconds": ceil(self.config.duration),
            "leaseTransitions": spec.lease_transitions + 1,
            "acquireTime": self._wall(),
        }
        return self._settle(self._write(record, {**taken, **self._times()}), began)

    def _claim(self, record: Record) -> LeaseClaim:
        return lease_claim(record, self.config.duration)

    def _settle(self, reply: Reply, began: float) -> str:
        """Lead from the start time of the request: the wait of the standby starts later."""
        if reply.outcome is WriteOutcome.OK:
            if self._guard is not None and (problem := self._guard.after()):
                self._valid_until = float("-inf")
                return problem
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
        """Write the lease, if its version is the one read."""
        patch = Patch(
            record.namespace, record.name, {"spec": spec}, version=record.version, uid=record.uid
        )
        return self._store.patch(LEASE, [patch])[0]

    def _times(self) -> dict[str, Any]:
        return {"renewTime": self._wall()}

    def _wall(self) -> str:
        """The wall-clock time with six decimals, as MicroTime requires."""
        text = timestamp(self._clock.now())
        return text if "." in text else text.replace("Z", ".000000Z")
