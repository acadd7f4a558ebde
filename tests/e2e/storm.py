"""An API server that rejects writes with 429 because its only write slot is in use."""

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
"""Flags of a server with one write at a time and a long timeout."""
LONGEST = 120.0
"""Timeout of the delayed write in seconds."""
SURELY = 3
"""Consecutive rejections required, because short writes of the server also use the slot."""

MOST_PROBES = 30
"""Probes after which a slow write that has no reply and no slot starts again."""


def no_master(plane: ControlPlane, user: str) -> None:
    """Give a user all rights outside system:masters, whose members never receive 429."""
    empower(plane, {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user})


def rejected_requests(plane: ControlPlane, user: str) -> int:
    """Number of requests of a user that were rejected with 429; requires the audit log."""
    return sum(call.response_status.code == 429 for call in plane.audit(user))


@contextmanager
def only_place_taken(plane: ControlPlane, by: str) -> Iterator[None]:
    """Occupy the only write slot of a server with a write of a user.

    All other writes are rejected meanwhile.
    """
    write = _SlowWrite(plane, by)
    try:
        until(write.holds_the_place, write.describe)
        yield
        write.end()
    finally:
        write.close()


class _SlowWrite:
    """A write that occupies a slot because its body is not sent."""

    def __init__(self, plane: ControlPlane, by: str) -> None:
        self._plane, self._by = plane, by
        self._path = f"/api/v1/namespaces/{SPACE}/configmaps"
        self._body = json.dumps({"metadata": {"name": f"slow-{turn()}"}}).encode()
        self._full = self._attempts = self._probes = self._status = 0
        self._line = self._begun()

    def holds_the_place(self) -> bool:
        """Return whether other writes are rejected.

        A slow write that was rejected, or that does not take the slot in time, starts again. No
        probe is sent in the same call, because the probe could take the slot first.
        """
        if self._was_rejected() or self._probes >= MOST_PROBES:
            self.close()
            self._line = self._begun()
            return False
        dry = f"{self._path}?dryRun=All"
        self._status = self._plane.send("POST", dry, self._body, self._by).status
        self._probes += 1
        self._full = self._full + 1 if self._status == 429 else 0
        return self._full >= SURELY

    def describe(self) -> str:
        """The last probe and the number of attempts."""
        return (
            f"the write slot is not taken: attempt {self._attempts}, probe {self._probes}, "
            f"status {self._status}"
        )

    def _was_rejected(self) -> bool:
        """Return whether the server replied before the body."""
        self._line.sock.settimeout(0)
        try:
            self._line.sock.recv(1)
        except SSLWantReadError:
            return False
        finally:
            self._line.sock.settimeout(LONGEST)
        return True

    def end(self) -> None:
        """Send the body."""
        self._line.send(self._body)
        assert self._line.getresponse().status == 201

    def close(self) -> None:
        self._line.close()

    def _begun(self) -> HTTPSConnection:
        self._full = self._probes = 0
        self._attempts += 1
        trust = create_default_context(cafile=str(self._plane.credentials.ca.cert))
        line = HTTPSConnection("127.0.0.1", self._plane.port, timeout=LONGEST, context=trust)
        line.putrequest("POST", self._path)
        line.putheader("Authorization", f"Bearer {self._plane.credentials.tokens[self._by]}")
        line.putheader("Content-Type", "application/json")
        line.putheader("Content-Length", str(len(self._body)))
        line.endheaders()  # the body follows in ``end``
        return line
