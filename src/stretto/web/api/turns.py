"""The server's own work: after relevant changes, and periodically."""

from typing import Final

from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION, EVENT, SERVICE, Kind
from stretto.base.clock import timestamp
from stretto.stores.store import Deletion, Record
from stretto.web.api.bootstrap.flows import make_flows, settle_flows
from stretto.web.api.bootstrap.registrations import API_SERVICE, settle_registrations
from stretto.web.api.crds.lifecycle import move_definitions
from stretto.web.api.flows.objects import GROUP
from stretto.web.api.objects.rendering import rendered
from stretto.web.api.state import ApiState
from stretto.web.api.storage import ObjectStorage

EVENT_SECONDS: Final = 3600.0
"""Seconds for which an event is kept after its last change, as in kube-apiserver."""
_PAUSE_SECONDS: Final = 60.0
"""Seconds between two checks for old events and for deleted flow schemas, as in kube-apiserver."""
_KINDS: Final = frozenset({CUSTOM_RESOURCE_DEFINITION, SERVICE, API_SERVICE})
"""Kinds that trigger the work, besides custom kinds and those of flow control."""


class OwnTurns:
    """Processing of changed definitions, flow schemas and APIServices; deletion of old events."""

    def __init__(self, state: ApiState) -> None:
        """Follow the changes of a server's objects."""
        self._state = state
        self._groups = {each.group for each in state.resources.built_in()} - {GROUP}
        self._is_due = True
        self._check_due = state.clock.now() + _PAUSE_SECONDS
        state.storage.store.subscribe(self._note)

    def _note(self, kind: Kind) -> None:
        if kind in _KINDS or kind.group not in self._groups:
            self._is_due = True

    def move(self) -> None:
        """Run the due work; if the work changes relevant objects, it is due again."""
        now = self._state.clock.now()
        if now >= self._check_due:
            self._check_due = now + _PAUSE_SECONDS
            make_flows(self._state)
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
    """Return the RFC 3339 time of an event's last repetition."""
    item = rendered(event)
    series = item.get("series") or {}
    return str(series.get("lastObservedTime") or item.get("lastTimestamp") or event.created)
