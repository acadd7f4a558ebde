"""The state of a master as ConfigMaps of a store: on an API server, every master can take over.

One ConfigMap contains one entity. A write contains the version that this process has read. A master
that has lost its lease therefore gets a conflict instead of overwriting the writes of its
successor.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import CONFIG_MAP
from stretto.base.errors import ConflictError, StrettoError, UnreachableError
from stretto.offers.master.state.changes import EntityKind
from stretto.offers.master.storage.contract import StateChanges, StoredIdentity
from stretto.offers.messages.schema import Message
from stretto.stores.render import render
from stretto.stores.store import (
    Deletion,
    ListOptions,
    Record,
    Reply,
    StatusReason,
    Store,
    Update,
    WriteOutcome,
)

MASTER: Final = "stretto.dev/master"
"""Label: the name of the master."""
ENTITY: Final = "stretto.dev/entity"
"""Label: the kind of the entity."""
HEAD: Final = "head"
"""Kind of the ConfigMap with the identity."""


class MasterObjects:
    """The ConfigMaps of one master."""

    def __init__(self, store: Store, namespace: str, name: str) -> None:
        """Use the ConfigMaps of a master in a namespace."""
        self._store = store
        self._namespace = namespace
        self._name = name
        self._versions: dict[str, int] = {}
        self._orders: dict[str, int] = {}
        self._next_order = 1
        self._records: dict[str, list[tuple[int, str, Message]]] = {}
        self._head: StoredIdentity | None = None
        self._failure: StrettoError | None = None
        self._read()

    def identity(self) -> StoredIdentity | None:
        """The stored identity; ``None`` if nothing has been stored."""
        found = self._records.get(HEAD)
        return None if not found else StoredIdentity(**found[0][2])

    def entities(self, kind: EntityKind) -> Iterator[tuple[str, Message]]:
        """Keys and rows of a kind, in the order in which they were first stored."""
        for _, key, value in sorted(self._records.get(kind.value, ()), key=lambda each: each[0]):
            yield key, value

    def write(self, changes: StateChanges) -> None:
        """Store changes.

        Raises:
            ConflictError: another master has written.
            UnreachableError: the store does not answer.
        """
        if self._failure is not None:
            raise self._failure
        try:
            self._save(changes)
        except StrettoError as error:
            self._failure = error
            raise

    def _save(self, changes: StateChanges) -> None:
        rows = {(kind.value, key): value for (kind, key), value in changes.rows.items()}
        if self._head != changes.identity:
            self._head = changes.identity
            rows[HEAD, ""] = changes.identity._asdict()
        self._write({each: value for each, value in rows.items() if value is not None})
        self._delete([each for each, value in rows.items() if value is None])

    def close(self) -> None:
        """Do nothing; the caller closes the store."""

    # ------------------------------------------------------------ store

    def _read(self) -> None:
        """Read all ConfigMaps of this master."""
        selected = ListOptions(namespace=self._namespace, labels=f"{MASTER}={self._name}")
        for record in self._store.list(CONFIG_MAP, selected).records:
            fields = msgspec.json.decode(render(record))
            data = fields.get("data", {})
            kind = fields["metadata"]["labels"].get(ENTITY, "")
            order, value = int(data["order"]), msgspec.json.decode(data["value"])
            self._note(record)
            self._orders[record.name] = order
            self._next_order = max(self._next_order, order + 1)
            self._records.setdefault(kind, []).append((order, data["key"], value))

    def _note(self, record: Record) -> None:
        self._versions[record.name] = record.version

    def _write(self, rows: dict[tuple[str, str], Message]) -> None:
        """Create or replace ConfigMaps."""
        named = {self._title(*each): (each, value) for each, value in rows.items()}
        bodies = {name: self._body(name, *each) for name, each in named.items()}
        fresh = [name for name in bodies if name not in self._versions]
        known = [name for name in bodies if name in self._versions]
        replies: list[Reply] = []
        if fresh:
            replies += self._store.create(CONFIG_MAP, [bodies[name] for name in fresh])
        if known:
            updates = [
                Update(self._namespace, name, bodies[name], self._versions[name]) for name in known
            ]
            replies += self._store.update(CONFIG_MAP, updates)
        for reply in replies:
            _require(reply)
            if reply.record is not None:
                self._note(reply.record)

    def _delete(self, rows: Sequence[tuple[str, str]]) -> None:
        """Delete ConfigMaps of removed entities."""
        names = [name for each in rows if (name := self._title(*each)) in self._versions]
        if not names:
            return
        gone = [Deletion(self._namespace, name) for name in names]
        for name, reply in zip(names, self._store.delete(CONFIG_MAP, gone), strict=True):
            if reply.code is not StatusReason.NOT_FOUND:
                _require(reply)
            del self._versions[name]
            self._orders.pop(name, None)

    def _title(self, kind: str, key: str) -> str:
        digest = hashlib.sha256(key.encode()).hexdigest()[:20]
        return f"{self._name}-{kind}" + (f"-{digest}" if key else "")

    def _body(self, name: str, entity: tuple[str, str], value: Message) -> bytes:
        kind, key = entity
        order = self._orders.setdefault(name, self._next_order)
        self._next_order = max(self._next_order, order + 1)
        meta: dict[str, Any] = {
            "name": name,
            "namespace": self._namespace,
            "labels": {MASTER: self._name, ENTITY: kind},
        }
        data = {"key": key, "order": str(order), "value": msgspec.json.encode(value).decode()}
        return msgspec.json.encode(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
        )


def _require(reply: Reply) -> None:
    """Raise an error unless the write succeeded."""
    if reply.outcome is WriteOutcome.OK:
        return
    if reply.outcome is WriteOutcome.CONFLICT or reply.code is StatusReason.ALREADY_EXISTS:
        hint = "another master has taken over; this one stands by"
        raise ConflictError("the state of the master", reply.message, hint)
    raise UnreachableError("the store of the master's state", reply.message or reply.code.value)
