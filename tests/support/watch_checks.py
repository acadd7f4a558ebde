"""The nine checks of etcd's robustness tests on watches, for the watches of an API server.

They compare what watches delivered with the writes that one client has made: ordered, unique,
atomic, reliable, resumable, bookmarkable, filter, prevKV and isCreate (etcd,
``tests/robustness/validate/watch.go``). An object of Kubernetes is a key; the object in a DELETED
event is the previous value.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

Json = dict[str, Any]


class Written(NamedTuple):
    """One write, in the order of their versions."""

    #: Its resource version.
    version: int
    #: Name of the object.
    name: str
    #: The object before; ``None`` for a new one.
    before: Json | None
    #: The object after; ``None`` for a deletion.
    after: Json | None


class Delivered(NamedTuple):
    """One event of a watch."""

    #: ``ADDED``, ``MODIFIED``, ``DELETED`` or ``BOOKMARK``.
    type: str
    #: Its object.
    item: Json

    @property
    def version(self) -> int:
        """The resource version of its object."""
        return int(self.item["metadata"]["resourceVersion"])

    @property
    def name(self) -> str:
        """The name of its object; empty for a bookmark."""
        return str(self.item["metadata"].get("name", ""))


class WatchLog(NamedTuple):
    """Events that one watch has delivered."""

    #: The version that it started from.
    start: int
    #: Whether it selects an object.
    selects: Callable[[Json], bool]
    #: Its events in order.
    events: Sequence[Delivered]

    @property
    def objects(self) -> list[Delivered]:
        """Its events without bookmarks."""
        return [each for each in self.events if each.type != "BOOKMARK"]


def ordered(log: WatchLog, writes: Sequence[Written]) -> bool:
    """Versions never fall."""
    del writes
    versions = [each.version for each in log.objects]
    return versions == sorted(versions)


def unique(log: WatchLog, writes: Sequence[Written]) -> bool:
    """No write is delivered twice."""
    del writes
    seen = [(each.version, each.name) for each in log.objects]
    return len(seen) == len(set(seen))


def atomic(log: WatchLog, writes: Sequence[Written]) -> bool:
    """An event has all of one write, and nothing of another."""
    after = {(each.version, each.name): each.after for each in writes}
    live = [each for each in log.objects if each.type != "DELETED"]
    return all(after.get((each.version, each.name)) == each.item for each in live)


def reliable(log: WatchLog, writes: Sequence[Written]) -> bool:
    """Between the first and the last delivered write, none is missing."""
    seen = [each.version for each in log.objects]
    due = [each for each in _due(log, writes) if seen and seen[0] <= each <= max(seen)]
    return set(due) <= set(seen)


def resumable(log: WatchLog, writes: Sequence[Written]) -> bool:
    """The first event is that of the first write after the start."""
    due = next(iter(_due(log, writes)), None)
    first = next(iter(log.objects), None)
    return first is None or first.version == due


def bookmarkable(log: WatchLog, writes: Sequence[Written]) -> bool:
    """Everything up to a bookmark's version comes before it, and nothing of it after."""
    due, reached = set(_due(log, writes)), log.start
    seen: set[int] = set()
    for each in log.events:
        if each.type == "BOOKMARK":
            if each.version < reached or {v for v in due if v <= each.version} - seen:
                return False
            reached = each.version
        elif each.version <= reached and reached != log.start:
            return False
        seen.add(each.version)
    return True


def filtered(log: WatchLog, writes: Sequence[Written]) -> bool:
    """Only selected objects are delivered; a DELETED event may tell that one has left."""
    changes = {(each.version, each.name): each for each in writes}
    for each in log.objects:
        change = changes.get((each.version, each.name))
        sides = () if change is None else (change.before, change.after)
        if not any(side is not None and log.selects(side) for side in sides):
            return False
    return True


def previous_value(log: WatchLog, writes: Sequence[Written]) -> bool:
    """A DELETED event has the last selected state, under the version of its end."""
    before = {(each.version, each.name): each.before for each in writes}
    for each in log.objects:
        if each.type != "DELETED":
            continue
        last = before.get((each.version, each.name))
        if last is None or _content(last) != _content(each.item):
            return False
    return True


def is_create(log: WatchLog, writes: Sequence[Written]) -> bool:
    """ADDED is an object that was not selected before, MODIFIED one that was."""
    before = {(each.version, each.name): each.before for each in writes}
    for each in log.objects:
        last = before.get((each.version, each.name))
        was = last is not None and log.selects(last)
        if each.type in ("ADDED", "MODIFIED") and was is not (each.type == "MODIFIED"):
            return False
    return True


CHECKS = {
    "ordered": ordered,
    "unique": unique,
    "atomic": atomic,
    "reliable": reliable,
    "resumable": resumable,
    "bookmarkable": bookmarkable,
    "filter": filtered,
    "prevKV": previous_value,
    "isCreate": is_create,
}


def failed_checks(log: WatchLog, writes: Sequence[Written]) -> set[str]:
    """The names of the checks that a watch does not pass."""
    return {name for name, holds in CHECKS.items() if not holds(log, writes)}


def _due(log: WatchLog, writes: Sequence[Written]) -> Iterator[int]:
    """The versions of the writes that the watch must deliver."""
    for each in writes:
        sides = (each.before, each.after)
        if each.version > log.start and any(s is not None and log.selects(s) for s in sides):
            yield each.version


def _content(item: Json) -> Json:
    """An object without its version."""
    metadata = {k: v for k, v in item["metadata"].items() if k != "resourceVersion"}
    return {**item, "metadata": metadata}
