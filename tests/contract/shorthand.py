"""Short words for what the contract's tests do again and again."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from stretto.api.wire.kinds import NODE, POD, POD_DISRUPTION_BUDGET, Kind
from stretto.stores.render import render
from stretto.stores.store import (
    Bind,
    Deletion,
    EventType,
    Eviction,
    ListOptions,
    Patch,
    Record,
    Reply,
    StatusReason,
    Store,
    Update,
    Watch,
    WatchEvent,
    WriteOutcome,
)
from tests.contract import bodies
from tests.contract.subjects import Subject

SPACE = "contract"
"""The namespace of the suite."""


class Desk:
    """A store, one object at a time."""

    def __init__(self, store: Store, subject: Subject) -> None:
        self.store = store
        self.subject = subject

    def needs(self, capability: str) -> None:
        """Skip a test that exceeds what this store supports."""
        if not getattr(self.store.capabilities, capability):
            name = self.subject.name
            pytest.skip(f"the {name} store says of itself: not {capability.replace('_', ' ')}")

    # making

    def create(self, kind: Kind, body: bytes) -> Record:
        """Add an object that must be accepted."""
        return written(self.store.create(kind, [bodies.typed(kind, body)])[0])

    def pod(self, name: str = "web", **metadata: Any) -> Record:
        """Add a pod."""
        return self.create(POD, bodies.pod(name, namespace=SPACE, **metadata))

    def node(self, name: str = "n1") -> Record:
        """Add a node."""
        return self.create(NODE, bodies.node(name))

    def bound(self, name: str = "web", node: str = "n1", **metadata: Any) -> Record:
        """Add a pod and bind it; the node is made where it is missing."""
        if self.store.get(NODE, "", node) is None:
            self.node(node)
        record = self.pod(name, **metadata)
        return written(self.bind(record, node))

    def running(self, name: str, *, ready: bool = True, phase: str = "Running") -> Record:
        """A bound pod of ``app=web`` with a status."""
        record = self.bound(name, labels={"app": "web"})
        condition = {"type": "Ready", "status": "True" if ready else "False"}
        return written(self.status(record, {"phase": phase, "conditions": [condition]}))

    def budget(self, name: str = "keep", **spec: Any) -> Record:
        """Add a disruption budget over ``app=web``."""
        return self.create(POD_DISRUPTION_BUDGET, bodies.budget(name, SPACE, **spec))

    # changing

    def patch(self, record: Record, patch: dict[str, Any], **conditions: Any) -> Reply:
        """Patch an object."""
        change = Patch(record.namespace, record.name, patch, **conditions)
        return self.store.patch(record.kind, [change])[0]

    def status(self, record: Record, status: dict[str, Any], **conditions: Any) -> Reply:
        """Patch an object's status."""
        change = Patch(record.namespace, record.name, {"status": status}, **conditions)
        return self.store.patch_status(record.kind, [change])[0]

    def update(self, record: Record, change: dict[str, Any], version: int | None = None) -> Reply:
        """Replace an object by what it shows now, with top-level fields changed."""
        body = json.dumps(self.shown(record) | change).encode()
        update = Update(record.namespace, record.name, body, version)
        return self.store.update(record.kind, [update])[0]

    def delete(self, record: Record, **conditions: Any) -> Reply:
        """Delete an object."""
        deletion = Deletion(record.namespace, record.name, **conditions)
        return self.store.delete(record.kind, [deletion])[0]

    def bind(self, record: Record, node: str, notes: dict[str, str] | None = None) -> Reply:
        """Bind a pod."""
        bind = Bind(record.namespace, record.name, record.uid, node, notes)
        reply = self.store.bind([bind])[0]
        if reply.outcome is WriteOutcome.OK and not self.store.capabilities.shows_bound:
            return replace(reply, record=self.now(record))
        return reply

    def evict(self, record: Record) -> Reply:
        """Evict a pod."""
        return self.store.evict([Eviction(record.namespace, record.name, record.uid)])[0]

    # looking

    def now(self, record: Record) -> Record | None:
        """The object as it is now."""
        return self.store.get(record.kind, record.namespace, record.name)

    def shown(self, record: Record) -> dict[str, Any]:
        """The object as it is now, as a client sees it."""
        found = self.now(record)
        assert found is not None
        shown: dict[str, Any] = json.loads(render(found))
        return shown

    def names(self, kind: Kind = POD, **selection: Any) -> list[str]:
        """Names of what a list in the suite's namespace answers."""
        listing = self.store.list(kind, ListOptions(namespace=SPACE, **selection))
        return [record.name for record in listing.records]

    def watch(self, kind: Kind = POD) -> Watch:
        """A watch from now on."""
        return self.store.watch(kind, self.store.list(kind).version)

    def read(self, watch: Watch, count: int) -> list[WatchEvent]:
        """The next changes of a watch."""
        return self.subject.read(watch, count)

    def news(self, watch: Watch, count: int) -> list[WatchEvent]:
        """As ``read``, without the marks of a store that marks what it then removes."""
        if self.store.capabilities.removes_in_one_step:
            return self.read(watch, count)
        events: list[WatchEvent] = []
        while len(events) < count and (more := self.read(watch, count - len(events))):
            events += [each for each in more if not _is_mark(each)]
        return events


def _is_mark(event: WatchEvent) -> bool:
    return event.type is EventType.MODIFIED and bool(event.record.deleting)


def written(reply: Reply) -> Record:
    """The record of a write that must have been accepted."""
    assert reply.outcome is WriteOutcome.OK, reply.message
    assert reply.record is not None
    return reply.record


def answer(reply: Reply) -> tuple[WriteOutcome, StatusReason]:
    """Outcome of a write, and its reason."""
    return reply.outcome, reply.code


CONFLICT = (WriteOutcome.CONFLICT, StatusReason.CONFLICT)
NOT_FOUND = (WriteOutcome.REFUSED, StatusReason.NOT_FOUND)
INVALID = (WriteOutcome.REFUSED, StatusReason.INVALID)
EXISTS = (WriteOutcome.CONFLICT, StatusReason.ALREADY_EXISTS)
TOO_MANY = (WriteOutcome.REFUSED, StatusReason.TOO_MANY_REQUESTS)
