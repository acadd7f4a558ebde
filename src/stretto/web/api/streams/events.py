"""The events of one watch, in the form that its client accepts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from stretto.base.errors import TooOldError
from stretto.stores.store import Record, Watch, WatchEvent
from stretto.web.api.call import Call
from stretto.web.api.encoding import event
from stretto.web.api.failures import ApiError, expired, status_of, too_new
from stretto.web.api.objects.changes import shape
from stretto.web.api.state import ApiState
from stretto.web.api.streams.converted import ConvertedSelection, converted_items
from stretto.web.api.streams.feeds import BATCH, FeedContents, SharedFeed
from stretto.web.api.streams.plan import StreamPlan
from stretto.web.api.tables.rows import table_of
from stretto.web.api.verbs.answers import metadata_only

Json = dict[str, Any]

_END_NOTE: Final = "k8s.io/initial-events-end"
_BOOKMARK_SECONDS: Final = 60.0
_SINGLE_FORMS: Final = ("Table", "PartialObjectMetadataList")
"""Forms in which the first event differs from the others."""


class _StreamChange(NamedTuple):
    """One change that a watch sends."""

    #: Type of the event; ``_KNOWN`` for an object that the client already has.
    word: str
    #: The object; ``None`` for the end of the initial objects.
    record: Record | None


_KNOWN: Final = "KNOWN"
_INITIAL_END: Final = _StreamChange("BOOKMARK", None)


class EventStream:
    """The events of one watch."""

    def __init__(self, state: ApiState, call: Call, plan: StreamPlan) -> None:
        self._state = state
        self._call = call
        self._plan = plan
        self._started = False
        self._ended = False
        self._is_due = True
        self._wake: Callable[[], None] | None = None
        self._batch: list[_StreamChange] = []
        self._converts = call.resource.conversion is not None
        self._selected = ConvertedSelection(plan.selection)
        self._kind = call.resource.stored
        self._resource = call.resource
        self._form = (
            call.resource.kind,
            call.resource.generation,
            plan.accepted,
            plan.selection.namespace,
        )
        self._feed: SharedFeed | None = None
        self._shares = self._is_shared()
        matches = None if self._shares else self._filter()
        self._watch: Watch = state.storage.watch(self._kind, plan.since, matches)
        self._marked = state.clock.monotonic()
        self._first_table = True
        self._version = plan.since

    def call_once(self, wake: Callable[[], None]) -> None:
        """Call a function once when more events may be available; a feed has its own call."""
        if self._feed is None:
            self._wake = wake
            self._state.storage.signals.call_once(self._kind, wake)

    def join(self) -> SharedFeed | None:
        """Send changes with a feed from now on, if it has read those that the stream has sent.

        Polls then return bookmarks alone. ``None`` if the stream sends its changes itself.
        """
        if self._feed is not None:
            return self._feed
        if not self._shares or self._is_due or self._version < self._plan.after:
            return None
        signals = self._state.storage.signals
        contents = FeedContents(
            partial(signals.call_once, self._kind),
            partial(signals.forget, self._kind),
            self._is_served,
            self._shared_lines,
        )
        own = SharedFeed(self._watch, self._version, contents)
        self._feed = self._state.storage.feeds.join(self._form, own)
        if self._feed is not None:
            self._forget()
            if self._feed is not own:
                own.close()
        return self._feed

    def leave(self, sent: bool = True) -> None:
        """Send the changes after those of the feed; its last ones too if these were not sent."""
        if self._feed is not None:
            self._version = self._feed.version if sent else self._feed.before
            self._state.storage.feeds.leave(self._form, self._feed)
            self._feed = None
            self._watch = self._state.storage.watch(self._kind, self._version, None)

    def is_due(self) -> bool:
        """Return whether more events may be available at once after the last poll."""
        return self._is_due

    def close(self) -> None:
        """Stop watching."""
        self.leave()
        self._ended = self._is_due = True
        self._watch.close()
        self._forget()

    def _forget(self) -> None:
        """Cancel the call at the next change."""
        if self._wake is not None:
            self._state.storage.signals.forget(self._kind, self._wake)

    def poll(self) -> Sequence[bytes] | None:
        """Return the events that can be sent now; ``None`` at the end.

        Raises:
            PendingReviewsError: a webhook must convert them, and has not answered yet.
        """
        if self._ended:
            return None
        self._is_due = not self._started
        is_served = self._is_served()
        if not is_served:
            self.leave()
        try:
            if self._feed is not None:
                chunks: Sequence[bytes] = []
            elif self._shares and self._started:
                chunks = self._shared_lines(self._changes())
            else:
                self._batch = self._batch or self._next_batch()
                chunks = self._lines(self._batch)
        except TooOldError:
            text = "The resourceVersion for the provided watch is too old."
            return [self._failure(expired(text))]
        except ApiError as error:
            return [self._failure(error)]
        self._batch = []
        if not is_served:
            self._is_due = True
            if not chunks:
                self.close()
                return None
        if chunks and self._plan.accepted.form == "PartialObjectMetadataList":
            self.close()  # no object can be encoded as a list
            return None
        return [*chunks, *self._progress()]

    def _is_shared(self) -> bool:
        """Return whether all watches of the same objects send the same events."""
        if self._converts or self._plan.accepted.form in _SINGLE_FORMS:
            return False
        return self._plan.selection.is_everything

    def _shared_lines(self, changes: Sequence[WatchEvent]) -> Sequence[bytes]:
        """Return changes as events, encoded once for all watches with the same changes."""
        if not changes:
            return []
        if changes[0].record.version <= self._plan.after:
            return self._lines(self._shown(changes))
        batches = self._state.views.batches(self._form)
        lines = batches.get(changes, lambda: b"".join(self._lines(self._shown(changes))))
        return [lines] if lines else []

    def _shown(self, changes: Sequence[WatchEvent]) -> list[_StreamChange]:
        """Return the changes of the namespace that the stream has not received yet."""
        namespace = self._plan.selection.namespace
        return [
            _StreamChange(change.type.name, change.record)
            for change in changes
            if change.record.version > self._plan.after
            and (not namespace or change.record.namespace == namespace)
        ]

    def _is_served(self) -> bool:
        """Return whether the resource is still served, by the same definition."""
        known = self._resource
        found = self._state.resources.find(known.group, known.kind.version, known.resource)
        if found is known:
            return True
        return found is not None and found.generation == known.generation

    def _failure(self, error: ApiError) -> bytes:
        """Return the last event of a watch that fails."""
        self.close()
        return event("ERROR", status_of(error), self._plan.accepted.media)

    def _next_batch(self) -> list[_StreamChange]:
        """Return the next changes.

        Raises:
            TooOldError: the changes are not kept.
            ApiError: the version of the initial objects does not exist yet.
        """
        if not self._started:
            self._started = True
            self._check_version()
            found = self._initial()
            self._plan = replace(self._plan, initial=())
            if found:
                return found
        return self._shown(self._changes())

    def _check_version(self) -> None:
        """Refuse initial objects of a version that does not exist yet."""
        plan = self._plan
        if plan.starts_now and plan.after > plan.since:
            raise too_new(plan.selection.version, plan.since)

    def _changes(self) -> Sequence[WatchEvent]:
        """Return the next changes; further ones are due if these fill a batch."""
        changes = self._watch.poll(BATCH)
        if changes:
            self._version = changes[-1].record.version
        self._is_due |= len(changes) == BATCH
        return changes

    def _initial(self) -> list[_StreamChange]:
        """Return the initial objects of the stream."""
        selects = self._filter() or (lambda _: True)
        found = [_StreamChange("ADDED", each) for each in self._plan.initial if selects(each)]
        if self._plan.selection.initial_events and self._plan.selection.bookmarks:
            found.append(_INITIAL_END)
        if self._converts and not self._plan.starts_now:
            past = self._state.storage.records_at(self._kind, self._plan.since) or ()
            found += [_StreamChange(_KNOWN, each) for each in past if selects(each)]
        return found

    def _lines(self, batch: Sequence[_StreamChange]) -> list[bytes]:
        """Encode changes as events."""
        shown: Iterator[Json] = iter(())
        if self._converts:
            records = [each.record for each in batch if each.record is not None]
            shown = iter(converted_items(self._call, records, self._state.views))
        chunks: list[bytes] = []
        for word, record in batch:
            if record is None:
                chunks.append(self._bookmark(self._plan.since, {_END_NOTE: "true"}))
            elif self._converts:
                chunks += self._converted(word, next(shown))
            else:
                chunks.append(self._line(word, record))
        return chunks

    def _converted(self, word: str, item: Json) -> list[bytes]:
        """Return the event about a converted object, if the watch selects it."""
        if word == _KNOWN:
            self._selected.follow(item)
            return []
        change = self._selected.change(word, item)
        return [] if change is None else [self._encoded(*change)]

    def _filter(self) -> Callable[[Record], bool] | None:
        """Return a function that selects records; ``None`` if all are selected."""
        selection, views = self._plan.selection, self._state.views
        namespace = selection.namespace
        if self._converts and not selection.is_everything:
            return selection.covers
        if selection.is_everything:
            return (lambda record: record.namespace == namespace) if namespace else None
        if not selection.reads_content:
            return selection.covers

        def selects(record: Record) -> bool:
            return selection.covers(record) and selection.matches(views.item(record))

        return selects

    def _line(self, word: str, record: Record) -> bytes:
        """Encode an event about a record."""
        accepted = self._plan.accepted
        views, call = self._state.views, self._call
        if accepted.form == "Table":
            return self._encoded(word, shape(call, views.item(record)))
        form = (self._resource.kind, self._resource.generation, word, accepted)

        def made() -> bytes:
            item = views.new(record, self._resource.kind)
            return self._encoded(word, item or shape(call, views.item(record)))

        return views.event(record, form, made)

    def _encoded(self, word: str, item: Json) -> bytes:
        accepted = self._plan.accepted
        if accepted.form == "Table":
            metadata = {"resourceVersion": item["metadata"].get("resourceVersion", "")}
            item = table_of(self._state, self._call, [item], metadata, accepted)
            if not self._first_table:
                item["columnDefinitions"] = None
            self._first_table = False
        elif accepted.form:
            item = metadata_only(item, accepted)
        return event(word, item, accepted.media)

    def _bookmark(self, version: int, notes: dict[str, str] | None = None) -> bytes:
        kind = self._call.resource.kind
        metadata: Json = {"resourceVersion": str(version)}
        if notes:
            metadata["annotations"] = notes
        item: Json = {"metadata": {}}
        if self._resource.definition is None:
            item = shape(self._call, item)
        item = {**item, "kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
        accepted = self._plan.accepted
        if accepted.form and accepted.form != "Table":
            item = metadata_only(item, accepted)
        elif accepted.form == "Table":
            return self._encoded("BOOKMARK", item)
        return event("BOOKMARK", item, self._plan.accepted.media)

    def _progress(self) -> list[bytes]:
        now = self._state.clock.monotonic()
        if not self._plan.selection.bookmarks or now - self._marked < _BOOKMARK_SECONDS:
            return []
        self._marked = now
        version = self._version if self._feed is None else self._feed.version
        return [self._bookmark(max(version, self._plan.since))]
