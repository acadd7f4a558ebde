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
held.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from stretto.api.types.core import Lease
from stretto.api.wire.kinds import LEASE
from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.stores.lease import LeaseConfig
from stretto.stores.store import Patch, Record, Reply, Store, WriteOutcome

SHARDS: Final = "stretto.dev/shards"
"""Annotation of the record: the number of shards."""
_DECODER: Final = msgspec.json.Decoder(Lease)
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

    def before(self) -> str:
        """Return why the candidate must not renew its lease; empty if it may."""
        record = self._read()
        if record is None:
            if busy := self._held(self._earlier_leases()):
                return f"{busy} is held by a process of an earlier version: it is waited for"
            return _problem(self._create())
        now, to = self._numbers(record)
        if now == self._count:
            return "" if to == now else _problem(self._write(record, str(now)))
        if busy := self._held([shard_lease(self._base, shard, now) for shard in range(now)]):
            return f"{busy} is held by a process of {now} shards: it is waited for"
        if to != self._count:
            problem = _problem(self._write(record, f"{now}>{self._count}"))
            return problem or f"the number of shards changes from {now} to {self._count}"
        return _problem(self._write(record, str(self._count)))

    def after(self) -> str:
        """Return why the candidate must not lead after a renewal; empty if it may."""
        record = self._read()
        if record is not None and self._numbers(record) == (self._count, self._count):
            return ""
        return "the number of shards has changed"

    # ---------------------------------------------------------------- inside

    @property
    def _name(self) -> str:
        return f"{self._base}-shards"

    def _read(self) -> Record | None:
        return self._store.get(LEASE, self._config.namespace, self._name)

    def _numbers(self, record: Record) -> tuple[int, int]:
        """The recorded number, and the one to which it changes.

        Raises:
            InputError: the record is malformed.
        """
        try:
            text = (_RECORD.decode(record.body).metadata.annotations or {}).get(SHARDS, "")
            now, _, to = text.partition(">")
            return int(now), int(to or now)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            where = f"Lease {record.namespace}/{record.name}"
            hint = "stop all processes and delete it"
            raise InputError(where, None, f"a number of shards in {SHARDS}", hint) from error

    def _earlier_leases(self) -> list[str]:
        """Leases of processes that do not know the record: their names have no number of shards."""
        sharded = [f"{self._base}-{shard}" for shard in range(self._count)]
        return [name for name in (self._base, *sharded) if name != self._config.name]

    def _held(self, names: Sequence[str]) -> str:
        """The first held lease of some names; empty if all are free or expired."""
        found = [self._store.get(LEASE, self._config.namespace, name) for name in names]
        held = [each.name for each in found if each is not None and not self._is_free(each)]
        return f"lease {held[0]}" if held else ""

    def _is_free(self, record: Record) -> bool:
        """True if a lease is released, or has not changed for its duration."""
        try:
            spec = _DECODER.decode(record.body).spec
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
        if not spec.holder_identity:
            return True
        now = self._clock.monotonic()
        version, since = self._seen.get(record.name, (-1, now))
        if version != record.version:
            since = now
            self._seen[record.name] = record.version, now
        lasts = max(self._config.duration, float(spec.lease_duration_seconds or 0))
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


def _problem(reply: Reply) -> str:
    """The error of a write; empty if it succeeded."""
    if reply.outcome is WriteOutcome.OK:
        return ""
    return reply.message or f"the record of the number of shards: {reply.code.value}"
