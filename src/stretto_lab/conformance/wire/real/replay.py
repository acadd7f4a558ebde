"""Replays a scenario against real API servers in real time."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from stretto.base.errors import StrettoError
from stretto.stores.kube.paths import object_path
from stretto_lab.conformance.wire.outcome import outcome
from stretto_lab.conformance.wire.placeholders import filled
from stretto_lab.conformance.wire.real.servers import HOST, RealServers
from stretto_lab.conformance.wire.replay import Fields, without
from stretto_lab.conformance.wire.requests import place
from stretto_lab.conformance.wire.scenario import RecordedOutcome, UserStep, WireScenario
from stretto_lab.conformance.wire.shared import kinds_of

LATE: Final = 30.0
"""Seconds after the recorded time within which an outcome may still come about."""
Agrees = Callable[[RecordedOutcome, Fields], bool]
"""Whether a state is the recorded one."""


class RealReplay:
    """The steps of one scenario on running servers.

    The servers may have run other scenarios: what is there before the first step does not count.
    """

    def __init__(self, scenario: WireScenario, common: Fields, servers: RealServers) -> None:
        """Begin now.

        Args:
            scenario: the scenario; notes about servers are not supported.
            common: what all scenarios share.
            servers: the servers, whose clusters have joined.
        """
        self._scenario = scenario
        self._kinds = kinds_of(common)
        self._servers = servers
        self._known: set[str] = set()
        self._hidden = servers.namespaces() - servers.own
        self._before = self._state()
        self._epoch = servers.clock.now()

    def outcomes(self, agrees: Agrees) -> Iterator[tuple[RecordedOutcome, Fields]]:
        """Each recorded outcome with what is there by then: once it agrees, else a while later.

        Raises:
            StrettoError: a server refuses a request that the recorded one accepted.
        """
        clock, start = self._servers.clock, self._servers.clock.monotonic()
        for step in self._scenario.steps:
            rest = start + step.t - clock.monotonic()
            self._servers.run_until(lambda: False, max(0.0, rest))
            if isinstance(step, UserStep):
                self._request(step)
            elif isinstance(step, RecordedOutcome):
                yield step, self._settled(step, agrees)
                start = max(start, clock.monotonic() - step.t)  # what is late delays what follows

    def filled(self, value: Any) -> Any:
        """A recorded value with its placeholders filled in."""
        return filled(value, self._epoch)

    # ---------------------------------------------------------------- inside

    def _settled(self, step: RecordedOutcome, agrees: Agrees) -> Fields:
        found = [self._shown(step)]

        def is_there() -> bool:
            found[0] = self._shown(step)
            return agrees(step, found[0])

        self._servers.run_until(is_there, LATE)
        return found[0]

    def _request(self, step: UserStep) -> None:
        kind, namespace, name, subresource = place(step.path, step.body, self._kinds)
        path = step.path
        if step.method != "POST":
            path = object_path(kind, namespace, name) + (f"/{subresource}" if subresource else "")
        plane, body = self._servers.planes[step.server], self.filled(step.body)
        if step.method == "PUT":
            body = _renewed(body, msgspec.json.decode(plane.send("GET", path).body))
        sent = b"" if body is None else msgspec.json.encode(body)
        answer = plane.send(step.method, path, sent)
        if answer.status >= 300 > step.code:
            text = answer.body.decode()[:500]
            raise StrettoError(f"{step.method} {step.path} on {step.server}: {text}")

    def _shown(self, step: RecordedOutcome) -> Fields:
        return without(self._state(), self._before, step)

    def _state(self) -> Fields:
        stores = self._servers.stores
        members = {name: stores[name] for name in self._servers.members}
        return outcome(stores[HOST], members, self._known, self._hidden)


def _renewed(body: Fields, present: Fields) -> Fields:
    """The body of an update with the identity and the version that the object has here."""
    found = present.get("metadata") or {}
    metadata = {key: found[key] for key in ("uid", "resourceVersion") if key in found}
    return {**body, "metadata": {**body["metadata"], **metadata}}
