"""Replays a scenario against an embedded host and embedded members in virtual time."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from stretto.base.clock import ManualClock
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.sim.fleet.server.availability import ServerAvailability, UnreliableStore
from stretto_lab.conformance.wire import requests
from stretto_lab.conformance.wire.connections import RecordedConnector
from stretto_lab.conformance.wire.outcome import outcome
from stretto_lab.conformance.wire.placeholders import filled
from stretto_lab.conformance.wire.scenario import (
    NoteAction,
    RecordedNote,
    RecordedOutcome,
    UserStep,
    WireScenario,
)
from stretto_lab.conformance.wire.setup import set_up, settings_of
from stretto_lab.conformance.wire.shared import kinds_of, parts_of
from stretto_lab.conformance.wire.webhooks import RecordedWebhooks

EPOCH: Final = 1_790_000_000.0
"""Wall time at which every replay begins."""
CALM_PERIODS: Final = 8.5
"""Number of health checks before a scenario begins; its first steps are between two of them."""

Fields = dict[str, Any]


class WireReplay:
    """A host, its members and the controllers, driven by the steps of a scenario."""

    def __init__(self, scenario: WireScenario, common: Fields) -> None:
        """Create the clusters in their state at the start of the scenario.

        Args:
            scenario: the scenario.
            common: common data of all scenarios: kinds, nodes and configurations.
        """
        self._scenario = scenario
        self._kinds = kinds_of(common)
        self._known: set[str] = set()
        settings = settings_of(common)
        clock = ManualClock(EPOCH - CALM_PERIODS * settings.health_period)
        webhooks = RecordedWebhooks(scenario.calls, clock, EPOCH)
        self.fleet = EmbeddedFleet(clock, settings, parts_of(webhooks))
        self.fleet.stop()
        set_up(self.fleet, common, scenario.clusters)
        if not scenario.begins_without_controllers:
            self._start()
        self.fleet.run_until(EPOCH)
        self._before = self._state()

    def outcomes(self) -> Iterator[tuple[RecordedOutcome, Fields]]:
        """Each recorded outcome with the writes of the replay up to its time."""
        for step in self._scenario.steps:
            self.fleet.run_until(EPOCH + step.t)
            if isinstance(step, UserStep) and step.was_refused:
                continue
            if isinstance(step, UserStep):
                step = msgspec.structs.replace(step, body=self.filled(step.body))
                at_host = step.server == "host"
                store = self.fleet.host if at_host else self.fleet.members[step.server].store
                requests.apply(store, step, self._kinds)
            elif isinstance(step, RecordedNote):
                self._act(step)
            else:
                yield step, without(self._state(), self._before, step)

    def filled(self, value: Any) -> Any:
        """A recorded value in which placeholders are replaced."""
        return filled(value, EPOCH)

    # ---------------------------------------------------------------- inside

    def _act(self, note: RecordedNote) -> None:
        """Perform an action of the user outside the API."""
        match note.action:
            case NoteAction.START:
                self._start()
            case NoteAction.STOP:
                self.fleet.stop()
            case NoteAction.SILENCE:
                self._served(note).set_availability(ServerAvailability.SILENT)
            case NoteAction.RESUME:
                self._served(note).set_availability(ServerAvailability.ANSWERS)

    def _served(self, note: RecordedNote) -> UnreliableStore:
        return self.fleet.members[note.server].served

    def _start(self) -> None:
        self.fleet.start(RecordedConnector(self.fleet.connector, self._scenario.faults))

    def _state(self) -> Fields:
        stores = {name: each.store for name, each in self.fleet.members.items()}
        return outcome(self.fleet.host, stores, self._known)


def without(state: Fields, before: Fields, recorded: RecordedOutcome) -> Fields:
    """A state without the objects from before the scenario, except recorded ones."""
    members = {
        name: shown
        for name, found in state["members"].items()
        if (shown := _shown(found, before["members"].get(name), recorded.members.get(name)))
        or name in recorded.members
    }
    return {
        "federated": _shown(state["federated"], before["federated"], recorded.federated),
        "members": members,
        "source": _shown(state["source"], before["source"], recorded.source),
    }


def _shown(state: Fields, before: Fields | None, recorded: Fields | None) -> Fields:
    hidden = (before or {}).keys() - (recorded or {}).keys()
    return {key: value for key, value in state.items() if key not in hidden}
