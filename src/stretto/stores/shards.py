"""Guard of the number of shards: processes with different numbers never lead at the same time.

The objects of a shard depend on the number of shards, so a process of two shards and one of three
may have the same object. A Lease records the number in its annotation: ``2``, or ``2>3`` while it
changes.

A candidate reads the record before it renews its own lease and again afterwards, and leads only if
both times the record is its number. A candidate with another number changes the record in two
writes, each with the version that it read. It announces the change once no lease of the old number
is held, and completes it once it has read these leases again after the announcement. A renewal
whose second read precedes the announcement is therefore seen by the change, which then waits for
its end. The recorded number has priority: its candidates take an announcement back.

Processes of earlier versions have no record. A candidate creates it once none of their leases is
held. It replaces a malformed record once no lease of another number is held either: a record that
cannot be read stops every renewal, as an announcement does.

The leader of shard 0 deletes the leases of former numbers that are free, each in the version that
it read: a lease that a process has acquired meanwhile stays.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from stretto.api.wire.kinds import LEASE
from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto.stores.lease import LeaseConfig, lease_claim
from stretto.stores.store import (
    Deletion,
    ListOptions,
    Patch,
    Record,
    Reply,
    StatusReason,
    Store,
    WriteOutcome,
)

SHARDS: Final = "stretto.dev/shards"
"""Annotation of the record: the number of shards."""
CLEANED_EVERY: Final = 60.0
"""Seconds between two deletions of the leases of former numbers."""
_OWN_ENDING: Final = re.compile(r"-shards$|-[0-9]+-of-[0-9]+$")
"""Endings of the record and of the leases of shards."""
_NUMBER: Final = re.compile(r"-[0-9]+$")
"""Ending of the leases of shards in earlier versions."""


class _CountMeta(msgspec.Struct, frozen=True):
    annotations: dict[str, str] | None = None


class _CountLease(msgspec.Struct, frozen=True):
    metadata: _CountMeta


_RECORD: Final = msgspec.json.Decoder(_CountLease)


def shard_lease(base: str, shard: int, shards: int) -> str:
    """Name of the lease of a shard; a process without shards has the base as its lease."""
    return f"{base}-{shard}-of-{shards}" if shards > 1 else base


def shard_ending(name: str, shards: int) -> str:
    """Ending of a name that makes it the lease of one shard, or the record; empty for a base.

    A base must be the same for every shard. With several shards it cannot end with a number either:
    the number may be that of the shard.
    """
    found = _OWN_ENDING.search(name) or (_NUMBER.search(name) if shards > 1 else None)
    return found.group() if found is not None else ""


def former_leases(store: Store, namespace: str, base: str, count: int) -> list[Record]:
    """The leases of other numbers of shards than ``count``; without shards, the base is the lease.

    Raises:
        StrettoError: the store does not permit the list or does not answer.
    """
    name = re.compile(rf"{re.escape(base)}(?:-[0-9]+-of-([0-9]+))?")
    found = store.list(LEASE, ListOptions(namespace)).records
    pairs = [(each, name.fullmatch(each.name)) for each in found]
    return [each for each, match in pairs if match and int(match[1] or 1) != count]


def delete_former(
    store: Store, namespace: str, place: tuple[str, int], is_free: Callable[[Record], bool]
) -> str:
    """Delete the free leases of former numbers of shards, each in the version that was read.

    Args:
        store: the store of the leases.
        namespace: their namespace.
        place: base of the names of all leases, and the present number of shards.
        is_free: true for a lease that may be deleted.

    Returns:
        Why a lease stays; empty on success.
    """
    stay = f"leases {place[0]}-… of former numbers of shards stay"
    try:
        free = [each for each in former_leases(store, namespace, *place) if is_free(each)]
        gone = [Deletion(each.namespace, each.name, each.uid, each.version) for each in free]
        replies = store.delete(LEASE, gone) if gone else []
    except StrettoError as error:
        return f"{stay}: {error}"
    refused = [each for each in replies if each.outcome is WriteOutcome.REFUSED]
    texts = [each.message for each in refused if each.code is not StatusReason.NOT_FOUND]
    return f"{stay}: {texts[0]}" if texts else ""


class ShardCountGuard:
    """Admits candidates for leases of one number of shards."""

    def __init__(self, store: Store, config: LeaseConfig, place: tuple[str, int], clock: Clock):
        """Initialize for one candidate.

        Args:
            store: the store of the leases.
            config: its own lease; those of other numbers are in the same namespace.
            place: base of the names of all leases, and the number of shards.
            clock: its monotonic time measures how long a lease has not changed.
        """
        self._store = store
        self._config = config
        self._base, self._count = place
        self._clock = clock
        self._seen: dict[str, tuple[int, float]] = {}
        self._clean_at = float("-inf")
        self._unclean = ""

    def before(self) -> str:
        """Return why the candidate must not renew its lease; empty if it may."""
        record = self._read()
        if record is None:
            held = self._held(self._found(self._earlier_leases()), "of an earlier version")
            return held or _problem(self._create())
        numbers = _numbers(record)
        if numbers is None:
            former = former_leases(self._store, self._config.namespace, self._base, self._count)
            others = [*self._found(self._earlier_leases()), *former]
            if held := self._held(others, "of another number of shards"):
                return f"Lease {record.namespace}/{record.name} is malformed; {held}"
            return _problem(self._write(record, str(self._count)))
        now, to = numbers
        if now == self._count:
            return "" if to == now else _problem(self._write(record, str(now)))
        former = self._found([shard_lease(self._base, shard, now) for shard in range(now)])
        if held := self._held(former, f"of {now} shards"):
            return held
        if to != self._count:
            problem = _problem(self._write(record, f"{now}>{self._count}"))
            return problem or f"the number of shards changes from {now} to {self._count}"
        return _problem(self._write(record, str(self._count)))

    def after(self) -> str:
        """Return why the candidate must not lead after a renewal; empty if it may."""
        record = self._read()
        if record is not None and _numbers(record) == (self._count, self._count):
            return ""
        return "the number of shards has changed"

    def clean(self) -> str:
        """Delete the free leases of former numbers, as the leader of shard 0, once a minute.

        Returns:
            What failed last; empty on success.
        """
        now = self._clock.monotonic()
        is_first = self._config.name == shard_lease(self._base, 0, self._count)
        if is_first and now >= self._clean_at:
            self._clean_at = now + CLEANED_EVERY
            self._unclean = delete_former(
                self._store, self._config.namespace, (self._base, self._count), self._is_free
            )
        return self._unclean

    # ---------------------------------------------------------------- inside

    @property
    def _name(self) -> str:
        return f"{self._base}-shards"

    def _read(self) -> Record | None:
        return self._store.get(LEASE, self._config.namespace, self._name)

    def _earlier_leases(self) -> list[str]:
        """Leases of processes that do not know the record: their names have no number of shards."""
        sharded = [f"{self._base}-{shard}" for shard in range(self._count)]
        return [name for name in (self._base, *sharded) if name != self._config.name]

    def _found(self, names: Sequence[str]) -> list[Record]:
        found = [self._store.get(LEASE, self._config.namespace, name) for name in names]
        return [each for each in found if each is not None]

    def _held(self, leases: Sequence[Record], which: str) -> str:
        """Why the candidate waits: the first held lease; empty if all are free or expired."""
        held = [each for each in leases if not self._is_free(each)]  # all of them: it starts a wait
        if not held:
            return ""
        problem = lease_claim(held[0], self._config.duration).problem
        return problem or f"lease {held[0].name} is held by a process {which}: it is waited for"

    def _is_free(self, record: Record) -> bool:
        """True if a lease is released, or has not changed for its duration."""
        spec, lasts, _ = lease_claim(record, self._config.duration)
        if not spec.holder_identity:
            return True
        now = self._clock.monotonic()
        version, since = self._seen.get(record.name, (-1, now))
        if version != record.version:
            since = now
            self._seen[record.name] = record.version, now
        return now - since >= lasts

    def _create(self) -> Reply:
        metadata = {
            "namespace": self._config.namespace,
            "name": self._name,
            "annotations": {SHARDS: str(self._count)},
        }
        kind = {"apiVersion": LEASE.api_version, "kind": LEASE.kind}
        body = {**kind, "metadata": metadata, "spec": {}}
        return self._store.create(LEASE, [msgspec.json.encode(body)])[0]

    def _write(self, record: Record, text: str) -> Reply:
        """Write the record if its version is the one read."""
        change = {"metadata": {"annotations": {SHARDS: text}}}
        patch = Patch(record.namespace, record.name, change, version=record.version, uid=record.uid)
        return self._store.patch(LEASE, [patch])[0]


def _numbers(record: Record) -> tuple[int, int] | None:
    """The recorded number, and the one to which it changes; ``None`` for a malformed record."""
    try:
        text = (_RECORD.decode(record.body).metadata.annotations or {}).get(SHARDS, "")
        now, _, to = text.partition(">")
        found = int(now), int(to or now)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError):
        return None
    return found if min(found) > 0 else None


def _problem(reply: Reply) -> str:
    """The error of a write; empty if it succeeded."""
    if reply.outcome is WriteOutcome.OK:
        return ""
    return reply.message or f"the record of the number of shards: {reply.code.value}"
