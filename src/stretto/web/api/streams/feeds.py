"""Feeds: the changes that many streams of the same objects send, read and encoded once."""

from collections.abc import Callable, Hashable, Sequence
from typing import Final, NamedTuple

from stretto.stores.store import Watch, WatchEvent

BATCH: Final = 512
"""Maximum changes that one poll returns."""


class FeedContents(NamedTuple):
    """The contents of a feed, which are those of every stream in it."""

    #: Registers a function that is called once at the next change.
    call_once: Callable[[Callable[[], None]], None]
    #: Cancels the call of this function.
    forget: Callable[[Callable[[], None]], None]
    #: Returns whether the resource is still served, by the same definition.
    is_served: Callable[[], bool]
    #: Encodes changes as events.
    encode: Callable[[Sequence[WatchEvent]], Sequence[bytes]]


class SharedFeed:
    """Reader of the changes of a kind for all streams that have read the same changes so far."""

    def __init__(self, watch: Watch, version: int, contents: FeedContents) -> None:
        """Read on with the watch of a stream that has sent the changes up to a version."""
        #: Version of the last change that was read.
        self.version = version
        #: Version of the last change before the last poll with events.
        self.before = version
        #: True if more changes may be available at once after the last poll.
        self.is_due = False
        self._watch = watch
        self._contents = contents
        self._wake: Callable[[], None] | None = None

    def call_once(self, wake: Callable[[], None]) -> None:
        """Call a function once at the next change, unless the feed ends before it."""
        self._wake = wake
        self._contents.call_once(wake)

    def poll(self) -> Sequence[bytes] | None:
        """Return the next events; ``None`` if each stream must go on by itself.

        Raises:
            TooOldError: the next change is no longer kept.
        """
        if not self._contents.is_served():
            return None
        changes = self._watch.poll(BATCH)
        self.is_due = len(changes) == BATCH
        if not changes:
            return ()
        events = self._contents.encode(changes)
        self.before, self.version = self.version, changes[-1].record.version
        return events

    def close(self) -> None:
        """Stop reading, and cancel the call at the next change."""
        self._watch.close()
        if self._wake is not None:
            self._contents.forget(self._wake)


class SharedFeeds:
    """The feeds that streams are in, by the form of their events."""

    def __init__(self) -> None:
        """Start without feeds."""
        self._feeds: dict[Hashable, SharedFeed] = {}
        self._sizes: dict[SharedFeed, int] = {}

    def join(self, form: Hashable, own: SharedFeed) -> SharedFeed | None:
        """Return the feed that a stream is in from now on.

        ``None`` if the feed of this form has read other changes than the stream.

        Args:
            form: the form of the stream's events.
            own: a feed of the stream alone, used if the form has no feed.
        """
        feed = self._feeds.setdefault(form, own)
        if feed.version != own.version:
            return None
        self._sizes[feed] = self._sizes.get(feed, 0) + 1
        return feed

    def leave(self, form: Hashable, feed: SharedFeed) -> None:
        """Take a stream out of its feed, which ends with its last stream."""
        self._sizes[feed] -= 1
        if not self._sizes[feed]:
            del self._sizes[feed], self._feeds[form]
            feed.close()
