"""The server's own work: after changes that concern it, and periodically."""

from typing import Final

from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION, EVENT, SERVICE, Kind
from stretto.base.clock import timestamp
from stretto.stores.store import Deletion, Record
from stretto.web.api.crds.lifecycle import move_definitions
from stretto.web.api.fresh.flows import GROUP, settle_flows
from stretto.web.api.fresh.registrations import API_SERVICE, settle_registrations
from stretto.web.api.objects.rendering import rendered
from stretto.web.api.state import ApiState
from stretto.web.api.storage import ObjectStorage

EVENT_SECONDS: Final = 3600.0
"""Seconds for which an event is kept after its last change, as by kube-apiserver."""
_PAUSE_SECONDS: Final = 60.0
"""Seconds between two looks for old events."""
_KINDS: Final = frozenset({CUSTOM_RESOURCE_DEFINITION, SERVICE, API_SERVICE})
"""Kinds on which the work depends, besides custom ones and those of flow control."""


class OwnTurns:
    """Moves definitions, flow schemas and APIServices, if any may have changed; ends events."""

    def __init__(self, state: ApiState) -> None:
        """Follow the changes of a server's objects."""
        self._state = state
        self._groups = {each.group for each in state.resources.built_in()} - {GROUP}
        self._is_due = True
        self._events_due = state.clock.now() + _PAUSE_SECONDS
        state.storage.store.subscribe(self._note)

    def _note(self, kind: Kind) -> None:
        if kind in _KINDS or kind.group not in self._groups:
            self._is_due = True

    def move(self) -> None:
        """Run the due work; work on objects that it changes is due again."""
        now = self._state.clock.now()
        if now >= self._events_due:
            self._events_due = now + _PAUSE_SECONDS
            _end_events(self._state.storage, timestamp(int(now - EVENT_SECONDS)))
        if not self._is_due:
            return
        self._is_due = False
        move_definitions(self._state)
        settle_flows(self._state)
        settle_registrations(self._state)


def _end_events(storage: ObjectStorage, before: str) -> None:
    """Delete the events whose last change is before an RFC 3339 time."""
    records = storage.listing(EVENT).records
    old = [each for each in records if each.created < before and _last_change(each) < before]
    deletions = [Deletion(each.namespace, each.name, each.uid, each.version) for each in old]
    if deletions:
        storage.store.delete(EVENT, deletions)


def _last_change(event: Record) -> str:
    """RFC 3339 time of the last repetition of an event."""
    item = rendered(event)
    series = item.get("series") or {}
    return str(series.get("lastObservedTime") or item.get("lastTimestamp") or event.created)
