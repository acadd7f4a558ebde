"""A server that turns writes away because its places are taken, and who it does so to."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPSConnection
from ssl import SSLWantReadError, create_default_context

from stretto_lab.control_plane.cluster import ControlPlane
from tests.e2e.daemon import SPACE, empower, turn, until

ONE_PLACE = (
    "--enable-priority-and-fairness=false",
    "--max-mutating-requests-inflight=1",
    "--request-timeout=10m",
)
"""Flags of a server that does one write at a time, however long it takes."""
LONGEST = 120.0
"""Seconds for the answer to a write that is held up no more."""
SURELY = 3
"""Looks in a row at which there was no place: the server's own short writes take one too."""


def no_master(plane: ControlPlane, user: str) -> None:
    """A user may do everything; who belongs to system:masters is never turned away (429)."""
    empower(plane, {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user})


def turned_away(plane: ControlPlane, user: str) -> int:
    """How many requests of a user the server had no time for; it must keep an audit log."""
    return sum(call.response_status.code == 429 for call in plane.audit(user))


@contextmanager
def only_place_taken(plane: ControlPlane, by: str) -> Iterator[None]:
    """A write of a user takes the only place for writes that a server has, until this ends.

    Nobody else's write finds one meanwhile, however quick the server and slow those who ask it.
    """
    write = _SlowWrite(plane, by)
    try:
        until(write.holds_the_place, lambda: "there is room")
        yield
        write.end()
    finally:
        write.close()


class _SlowWrite:
    """A write whose body waits, and that holds a place meanwhile."""

    def __init__(self, plane: ControlPlane, by: str) -> None:
        self._plane, self._by = plane, by
        self._path = f"/api/v1/namespaces/{SPACE}/configmaps"
        self._body = json.dumps({"metadata": {"name": f"slow-{turn()}"}}).encode()
        self._full = 0
        self._line = self._begun()

    def holds_the_place(self) -> bool:
        """Whether others are turned away for its sake; it is begun again if it was itself."""
        if self._was_turned_away():
            self.close()
            self._line, self._full = self._begun(), 0
        dry = f"{self._path}?dryRun=All"
        is_full = self._plane.ask("POST", dry, self._body, self._by).status == 429
        self._full = self._full + 1 if is_full else 0
        return self._full >= SURELY

    def _was_turned_away(self) -> bool:
        """Whether it was answered before its body."""
        self._line.sock.settimeout(0)
        try:
            self._line.sock.recv(1)
        except SSLWantReadError:
            return False
        finally:
            self._line.sock.settimeout(LONGEST)
        return True

    def end(self) -> None:
        """Send the rest of it."""
        self._line.send(self._body)
        assert self._line.getresponse().status == 201

    def close(self) -> None:
        self._line.close()

    def _begun(self) -> HTTPSConnection:
        trust = create_default_context(cafile=str(self._plane.credentials.ca.cert))
        line = HTTPSConnection("127.0.0.1", self._plane.port, timeout=LONGEST, context=trust)
        line.putrequest("POST", self._path)
        line.putheader("Authorization", f"Bearer {self._plane.credentials.tokens[self._by]}")
        line.putheader("Content-Type", "application/json")
        line.putheader("Content-Length", str(len(self._body)))
        line.endheaders()  # and the body waits
        return line
