"""What the server does by itself when objects have changed that concern it."""

from typing import Final

from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION, SERVICE, Kind
from stretto.web.api.crds.lifecycle import move_definitions
from stretto.web.api.fresh.flows import GROUP, settle_flows
from stretto.web.api.fresh.registrations import API_SERVICE, settle_registrations
from stretto.web.api.state import ApiState

_KINDS: Final = frozenset({CUSTOM_RESOURCE_DEFINITION, SERVICE, API_SERVICE})
"""Kinds on which the work depends, besides custom ones and those of flow control."""


class OwnTurns:
    """Moves definitions, flow schemas and APIServices, if any of them may have changed."""

    def __init__(self, state: ApiState) -> None:
        """Follow the changes of a server's objects."""
        self._state = state
        self._groups = {each.group for each in state.resources.built_in()} - {GROUP}
        self._is_due = True
        state.storage.store.subscribe(self._note)

    def _note(self, kind: Kind) -> None:
        if kind in _KINDS or kind.group not in self._groups:
            self._is_due = True

    def move(self) -> None:
        """Do what is due; what it changes is due again."""
        if not self._is_due:
            return
        self._is_due = False
        move_definitions(self._state)
        settle_flows(self._state)
        settle_registrations(self._state)
