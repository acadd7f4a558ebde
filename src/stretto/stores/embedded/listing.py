"""Lists: selection of records, and pages that are consistent with the first page."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from stretto.api.wire.fields import FieldRule, field_text, parse_fields
from stretto.api.wire.kinds import EVENT, NAMESPACE, NODE, POD, Kind
from stretto.api.wire.selectors import parse_labels
from stretto.api.wire.shards import ObjectShard
from stretto.base.errors import InputError, TooOldError
from stretto.base.limited import LimitedMap
from stretto.stores.facts import decode_facts, decode_pod_facts
from stretto.stores.render import render
from stretto.stores.store import Listing, ListOptions, Record

OPEN_PAGES: Final = 16
"""Maximum number of open paged lists; one more closes the least recently used list."""

_COMMON: Final = frozenset({"metadata.name", "metadata.namespace"})
SELECTABLE: Final[dict[Kind, frozenset[str]]] = {
    POD: _COMMON
    | {
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    },
    NODE: _COMMON | {"spec.unschedulable"},
    NAMESPACE: _COMMON | {"status.phase"},
    EVENT: _COMMON
    | {
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    },
}
"""Fields that an API server allows in a selector, for kinds with more than two."""

Test = Callable[[Record], bool]
"""Returns whether a record is selected."""
Remember = Callable[[Test], Test]
"""Adds a cache to a test on bodies."""


def record_filter(
    kind: Kind, selection: ListOptions, remember: Remember | None = None
) -> Test | None:
    """The condition of a selection except its namespace; ``None`` if there is none.

    Raises:
        InputError: a selector is malformed or contains a field that cannot be selected.
    """
    if not selection.fields and not selection.labels and selection.shard is None:
        return None
    by_body = remember or _by_body
    tests: list[Test] = []
    if selection.shard is not None:
        tests.append(_shard_test(selection.shard))
    for rule in parse_fields(selection.fields).rules:
        known = SELECTABLE.get(kind, _COMMON)
        if rule.path not in known:
            raise InputError("field selector", rule.path, "one of " + ", ".join(sorted(known)))
        tests.append(_field_test(rule, by_body))
    if selection.labels:
        tests.append(_label_test(kind, selection.labels, by_body))
    if len(tests) < 2:
        return tests[0] if tests else None
    return lambda record: all(test(record) for test in tests)


def watch_filter(kind: Kind, selection: ListOptions) -> Test:
    """Return a test whether a selection contains a record, including its namespace.

    The test keeps no bodies.

    Raises:
        InputError: a selector is malformed.
    """
    namespace, test = selection.namespace, record_filter(kind, selection, _each_time)
    if not namespace:
        return test or (lambda _record: True)
    return lambda record: record.namespace == namespace and (test is None or test(record))


def _field_test(rule: FieldRule, by_body: Remember) -> Test:
    value, equal = rule.value, rule.equal
    if rule.path == "metadata.name":
        return lambda record: (record.name == value) is equal
    if rule.path == "metadata.namespace":
        return lambda record: (record.namespace == value) is equal
    if rule.path == "spec.nodeName":
        return lambda record: (record.node == value) is equal
    if rule.path == "status.phase":
        return by_body(lambda record: (_phase(record) == value) is equal)
    return by_body(lambda record: (_text(record, rule.path) == value) is equal)


def _shard_test(shard: ObjectShard) -> Test:
    return lambda record: shard.holds(record.namespace, record.name, record.body)


def _label_test(kind: Kind, labels: str, by_body: Remember) -> Test:
    selector = parse_labels(labels)
    decode: Callable[[bytes], Any] = decode_pod_facts if kind == POD else decode_facts

    def test(record: Record) -> bool:
        try:
            return selector.matches(decode(record.body).metadata.labels or {})
        except InputError:
            return False  # an unreadable body must not hide other records

    return by_body(test)


def _each_time(test: Test) -> Test:
    """A test that is evaluated for each record, because a long-lived watch must not keep bodies."""
    return test


def _by_body(test: Test) -> Test:
    """A test on the body, evaluated once per body, because a million pods may share one."""
    known: dict[int, tuple[bytes, bool]] = {}

    def remembered(record: Record) -> bool:
        body = record.body
        found = known.get(id(body))
        if found is None:
            found = known[id(body)] = (body, test(record))
        return found[1]

    return remembered


def _phase(record: Record) -> str:
    """The phase of a pod; a missing phase means Pending, as in an API server."""
    if record.kind == POD:
        try:
            return decode_pod_facts(record.body).phase or "Pending"
        except InputError:
            return "Unknown"
    return _text(record, "status.phase")


def _text(record: Record, path: str) -> str:
    try:
        return field_text(msgspec.json.decode(render(record)), path)
    except (msgspec.DecodeError, RecursionError):
        return ""


def _question(kind: Kind, selection: ListOptions) -> tuple[object, ...]:
    """The part of a list's options that all its pages share."""
    return kind, selection.namespace, selection.labels, selection.fields, selection.shard


class _PagedList:
    """A paged list."""

    def __init__(self, kind: Kind, selection: ListOptions, listing: Listing) -> None:
        self.question = _question(kind, selection)
        self.listing = listing


class Pager:
    """Pages of lists. A list with a limit is kept, so that later pages match the first one.

    Records are immutable, so an open list costs one reference per record.
    """

    def __init__(self) -> None:
        self._open = LimitedMap[str, _PagedList](OPEN_PAGES)
        self._serial = 0

    def first(self, kind: Kind, selection: ListOptions, listing: Listing) -> Listing:
        """Return the first page of a complete list."""
        if not 0 < selection.limit < len(listing.records):
            return listing
        self._serial += 1
        token = f"{listing.version}.{self._serial}"
        self._open[token] = _PagedList(kind, selection, listing)
        return self._cut(token, 0, selection.limit)

    def further(self, kind: Kind, selection: ListOptions) -> Listing:
        """Return the page of a token, from the list at the time of its first page.

        Raises:
            TooOldError: the list is no longer kept; list again.
            InputError: the token is malformed or belongs to another list.
        """
        token, _, offset = selection.page.rpartition(".")
        if not offset.isdecimal() or not token.replace(".", "", 1).isdecimal():
            raise InputError("page", selection.page, "a token that a list returned")
        pages = self._open.get(token)
        if pages is None:
            raise TooOldError(token.partition(".")[0], "the most recent lists")
        if pages.question != _question(kind, selection):
            raise InputError("page", selection.page, "a token of this list")
        self._open.move_to_end(token)
        return self._cut(token, int(offset), selection.limit)

    def _cut(self, token: str, start: int, limit: int) -> Listing:
        whole = self._open[token].listing
        end = start + limit if limit > 0 else len(whole.records)
        more = f"{token}.{end}" if end < len(whole.records) else ""
        return Listing(whole.records[start:end], whole.version, more)
