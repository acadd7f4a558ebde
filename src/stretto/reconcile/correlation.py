"""Similar events about one object, combined and limited as in Kubernetes' client library.

Each further event with the same reason counts in one combined event once ten messages differ
within ten minutes. A reporter writes at most 25 events about one object at once, then one every
five minutes.
"""

from collections.abc import Hashable
from typing import Final, NamedTuple

import msgspec

from stretto.base.clock import Clock
from stretto.base.limited import LimitedMap
from stretto.reconcile.events import EventOrigin, EventText
from stretto.stores.store import Record

_MESSAGES: Final = 10
"""Number of different messages from which events are combined."""
_APART: Final = 600.0
"""Seconds without a similar event after which events are no longer combined."""
_BURST: Final = 25
"""Number of events about one object that are written at once."""
_REFILL: Final = 300.0
"""Seconds until one further event about an object may be written."""
KNOWN: Final = 4096
"""Maximum number of groups of events in memory, of each sort."""
_COMBINED: Final = "(combined from similar events): "


class _SimilarGroup(NamedTuple):
    """The events of one reason about one object."""

    #: Different messages, at most one less than are combined.
    messages: frozenset[str]
    #: Wall-clock time of the last event.
    at: float


class _Budget(NamedTuple):
    """Number of events about one object that may still be written."""

    #: The number; a fraction while the next one is due later.
    left: float
    #: Wall-clock time of this number.
    at: float


class EventCorrelator:
    """Combines the events of one reporter, and limits those about one object."""

    def __init__(self, clock: Clock) -> None:
        """Start with no event; ``clock`` gives wall-clock time."""
        self._clock = clock
        self._groups = LimitedMap[Hashable, _SimilarGroup](KNOWN)
        self._budgets = LimitedMap[Hashable, _Budget](KNOWN)

    def combined(
        self, record: Record, text: EventText, origin: EventOrigin
    ) -> tuple[Hashable, EventText]:
        """Return the key by which an event is counted, and its text.

        Args:
            record: the object of the event.
            text: level, reason and message.
            origin: node and path of the event.
        """
        whole = (record.uid, record.name, origin.host, text.level, text.reason)
        now = self._clock.now()
        before = self._groups.get(whole)
        is_near = before is not None and now - before.at <= _APART
        messages = before.messages if before is not None and is_near else frozenset[str]()
        many = messages | {text.message}
        is_combined = len(many) >= _MESSAGES
        self._groups[whole] = _SimilarGroup(messages if is_combined else many, now)
        if is_combined:
            return whole, msgspec.structs.replace(text, message=f"{_COMBINED}{text.message}")
        return (*whole, text.message, origin.field_path), text

    def allows(self, record: Record, origin: EventOrigin) -> bool:
        """Return whether a further event about an object may be written, and count it."""
        key, now = (record.uid, record.name, origin.host), self._clock.now()
        before = self._budgets.get(key, _Budget(_BURST, now))
        left = min(float(_BURST), before.left + (now - before.at) / _REFILL)
        is_allowed = left >= 1.0
        self._budgets[key] = _Budget(left - is_allowed, now)
        return is_allowed
