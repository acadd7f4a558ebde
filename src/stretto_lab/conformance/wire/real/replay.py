"""Replays a scenario against real API servers in real time."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION, NAMESPACE
from stretto.base.errors import StrettoError
from stretto.stores.kube.paths import object_path
from stretto_lab.conformance.wire.outcome import Lists, outcome
from stretto_lab.conformance.wire.placeholders import filled
from stretto_lab.conformance.wire.real.credentials import RecordedSecrets, address_of
from stretto_lab.conformance.wire.real.servers import RealServers
from stretto_lab.conformance.wire.replay import Fields, without
from stretto_lab.conformance.wire.requests import place
from stretto_lab.conformance.wire.scenario import (
    NoteAction,
    RecordedNote,
    RecordedOutcome,
    UserStep,
    WireScenario,
)
from stretto_lab.conformance.wire.scope import EVERYTHING, scope_of
from stretto_lab.conformance.wire.shared import kinds_of

LATE: Final = 240.0
"""Seconds after the recorded time within which an outcome may occur on a busy machine."""
AGAIN: Final = 2.0
"""Seconds after which a missing outcome is compared again."""
CALM: Final = 30.0
"""Seconds after the recorded time within which an intended difference may still vanish."""
STEADY: Final = 8.0
"""Seconds without a change of the state after which an intended difference is final."""
Differs = Callable[[RecordedOutcome, Fields], tuple[bool, bool]]
"""Predicates of a state: does it differ from the recorded one at all, and without a reason."""


class SteadyState:
    """The last state of a replay, and the time since which it has not changed."""

    def __init__(self) -> None:
        """Start without a state."""
        self._state: Fields | None = None
        self._begin = 0.0

    def since(self, state: Fields, now: float) -> float:
        """Seconds for which the state has been equal.

        Args:
            state: the present state.
            now: monotonic time in seconds.
        """
        if state != self._state:
            self._state, self._begin = state, now
        return now - self._begin


class RealReplay:
    """The steps of one scenario on running servers.

    Unless the scenario changes servers, other scenarios may have run or be running on them: only
    its own objects count. Objects from before the first step do not count.
    """

    def __init__(self, scenario: WireScenario, common: Fields, servers: RealServers) -> None:
        """Start now.

        Args:
            scenario: the scenario.
            common: common data of all scenarios.
            servers: the servers, whose clusters have joined; for a scenario that changes servers,
                servers that no other scenario uses.
        """
        self._scenario = scenario
        self._kinds = kinds_of(common)
        self._servers = servers
        self._scope = EVERYTHING if scenario.changes_servers else scope_of(scenario)
        self._secrets = RecordedSecrets(scenario, servers.planes)
        self._known: set[str] = set()
        self._before = self._state(servers.lists)
        self._epoch = servers.clock.now()
        self._steady = SteadyState(), SteadyState()
        servers.webhooks.add(scenario.calls, self._epoch)

    def outcomes(self, differs: Differs) -> Iterator[tuple[RecordedOutcome, Fields] | None]:
        """Each recorded outcome with the state, once they agree or after a time limit.

        ``None`` means that nothing is due: the caller runs the controllers and continues.

        Raises:
            StrettoError: a server refuses a request that the recorded server accepted.
        """
        clock, start = self._servers.clock, self._servers.clock.monotonic()
        for step in self._scenario.steps:
            while clock.monotonic() < start + step.t:
                yield None
            if isinstance(step, UserStep) and not step.was_refused:
                self._request(step)
                sent_at = clock.monotonic()
                while not self._is_known(step) and clock.monotonic() < sent_at + LATE:
                    yield None
                start += clock.monotonic() - sent_at
            elif isinstance(step, RecordedNote):
                self._act(step)
            elif isinstance(step, RecordedOutcome):
                due = clock.monotonic()
                while (found := self._ready(step, differs, due)) is None:
                    again = clock.monotonic() + AGAIN
                    while clock.monotonic() < again:
                        yield None
                yield step, found
                start = max(start, clock.monotonic() - step.t)  # delay the following steps as well

    def filled(self, value: Any) -> Any:
        """A recorded value in which placeholders are replaced."""
        return filled(value, self._epoch, address=self._address)

    def close(self) -> None:
        """Delete the namespaces of the scenario, so that its pods free the nodes."""
        for plane in self._servers.planes.values():
            for name in self._scope.own or ():
                plane.send("DELETE", object_path(NAMESPACE, "", name))

    # ---------------------------------------------------------------- inside

    def _ready(self, step: RecordedOutcome, differs: Differs, due: float) -> Fields | None:
        """The state if it agrees or is too late; ``None`` while the outcome may still occur.

        Caches show when a complete listing is worthwhile.
        """
        now = self._servers.clock.monotonic()
        views: tuple[Mapping[str, Lists], ...] = (self._servers.caches, self._servers.lists)
        sources = zip(views, self._steady, strict=True)
        for lists, steady in islice(sources, int(self._servers.fleet is None), None):
            found = without(self._state(lists), self._before, step)
            differs_at_all, wrongly = differs(step, found)
            is_final = not wrongly and steady.since(found, now) >= STEADY
            if differs_at_all and not is_final and now - due < (LATE if wrongly else CALM):
                return None
        return found

    def _act(self, note: RecordedNote) -> None:
        """Perform an action of the user outside the API."""
        match note.action:
            case NoteAction.START:
                self._servers.start()
            case NoteAction.STOP:
                self._servers.stop()
            case NoteAction.SILENCE:
                self._servers.silence(note.server)
            case NoteAction.RESUME:
                self._servers.resume(note.server)

    def _is_known(self, step: UserStep) -> bool:
        """True once the host knows the kinds of a member after a request about one of them.

        A health check finds them. In the recording it came before the next step.
        """
        cluster = self._servers.fleet.cluster(step.server) if self._servers.fleet else None
        return cluster is None or serves_as_requested(step, cluster.status)

    def _address(self, server: str) -> str:
        return address_of(self._servers.planes, server)

    def _request(self, step: UserStep) -> None:
        kind, namespace, name, subresource = place(step.path, step.body, self._kinds)
        path = step.path
        if step.method != "POST":
            path = object_path(kind, namespace, name) + (f"/{subresource}" if subresource else "")
        plane, secret = self._servers.planes[step.server], self._secrets.of(step.body)
        body = filled(step.body, self._epoch, secret, self._address)
        if step.method == "PUT":
            body = _renewed(body, msgspec.json.decode(plane.send("GET", path).body))
        sent = b"" if body is None else msgspec.json.encode(body)
        answer = plane.send(step.method, path, sent)
        if answer.status >= 300 > step.code:
            text = answer.body.decode()[:500]
            raise StrettoError(f"{step.method} {step.path} on {step.server}: {text}")

    def _state(self, lists: Mapping[str, Lists]) -> Fields:
        members = {name: lists[name] for name in self._servers.members}
        return outcome(lists[self._servers.host], members, self._known, self._scope)


def serves_as_requested(step: UserStep, status: Fields) -> bool:
    """True if the kinds in the status of a cluster are those after a request to its member.

    Args:
        step: the request; requests about other objects than kinds change none.
        status: the status of the FederatedCluster.
    """
    kind, _, name, _ = place(step.path, step.body)
    if kind != CUSTOM_RESOURCE_DEFINITION or step.method not in ("POST", "DELETE"):
        return True
    served = status.get("apiResourceTypes") or ()
    name = name or step.body["metadata"]["name"]
    is_served = name in {f"{each.get('pluralName')}.{each.get('group')}" for each in served}
    return is_served == (step.method == "POST")


def _renewed(body: Fields, present: Fields) -> Fields:
    """The body of an update with the present identity and version of the object."""
    found = present.get("metadata") or {}
    metadata = {key: found[key] for key in ("uid", "resourceVersion") if key in found}
    return {**body, "metadata": {**body["metadata"], **metadata}}
