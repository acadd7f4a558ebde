"""Reads that wait for a server that is away, and end when waiting is over."""

import pytest

from stretto.api.wire.kinds import NODE, POD, Kind
from stretto.base.clock import ManualClock
from stretto.base.errors import NotAllowedError, StrettoError, UnreachableError
from stretto.base.rng import Rng
from stretto.daemons.retrying_store import RetryingStore, StoppedError
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import EVERYTHING, Listing, ListOptions

GONE = UnreachableError("the server")
DENIED = NotAllowedError("list pods")


Failures = list[StrettoError]


class Shaky(MemoryStore):
    """Fails its next lists as configured."""

    def __init__(self, clock: ManualClock, failures: Failures) -> None:
        super().__init__(clock, Rng(1))
        self.failures = failures

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        if self.failures:
            raise self.failures.pop(0)
        return super().list(kind, selection)


class Site:
    """A steady store over a shaky one."""

    def __init__(self, *failures: StrettoError, failures_left: int = 99) -> None:
        self.clock = ManualClock()
        self.reported: list[tuple[str, str]] = []
        self.failures_left = failures_left
        self.inner = Shaky(self.clock, list(failures))
        self.store = RetryingStore(self.inner, self.clock, self.check, self.tell)

    def check(self) -> None:
        self.failures_left -= 1
        if self.failures_left < 0:
            raise StoppedError

    def tell(self, what: str, wrong: str) -> None:
        self.reported.append((what, wrong))


def test_a_list_waits_until_the_server_is_back() -> None:
    site = Site(GONE, GONE)
    assert site.store.list(POD).version == 0
    assert site.clock.monotonic() > 0
    assert [wrong for _, wrong in site.reported] == [str(GONE), str(GONE), ""]


def test_waiting_ends_with_the_daemon() -> None:
    with pytest.raises(StoppedError):
        Site(*[GONE] * 9, failures_left=3).store.list(POD)


def test_a_successful_read_does_not_check_whether_to_stop() -> None:
    assert Site(failures_left=0).store.list(NODE).version == 0


def test_a_right_that_was_never_there_is_an_error() -> None:
    with pytest.raises(NotAllowedError):
        Site(*[DENIED] * 99).store.list(POD)


def test_the_store_waits_for_a_server_that_has_not_loaded_rbac_yet() -> None:
    site = Site(*[DENIED] * 4)
    assert site.store.list(POD).version == 0
    assert ("list pods", str(DENIED)) in site.reported


def test_a_right_that_was_taken_away_is_waited_for() -> None:
    site = Site()
    site.store.list(POD)
    site.inner.failures = [DENIED]
    site.store.list(POD)
    assert ("list pods", str(DENIED)) in site.reported
