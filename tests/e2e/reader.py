"""A reader that lists once and then watches, and pods to read."""

import time

from stretto.api.wire.kinds import POD
from stretto.base.errors import StrettoError, TooOldError
from stretto.stores.store import EventType, Record, Reply, Store, Watch, WatchEvent, WriteOutcome
from tests.contract import bodies

SPACE = "contract"


class Picture:
    """All pods according to one list and its watch; each change arrives once and in order."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.pods: dict[str, Record] = {}
        self.versions: list[int] = []
        self.lists = 0
        self.watch: Watch = self._list()

    def settle(self, truth: Store, within: float = 90.0) -> bool:
        """Poll until it equals the store; False if that does not happen in time."""
        until = time.monotonic() + within
        while time.monotonic() < until:
            self.poll()
            try:
                listed = {each.uid: each for each in truth.list(POD).records}
            except StrettoError:
                continue
            if self.pods == listed:
                return True
            time.sleep(0.05)
        return False

    def poll(self) -> None:
        """Apply pending events."""
        try:
            events = self.watch.poll()
        except TooOldError:
            self.watch = self._list()
            return
        for event in events:
            self._take(event)

    def _take(self, event: WatchEvent) -> None:
        uid, version = event.record.uid, event.record.version
        assert not self.versions or version > self.versions[-1], "doubled, or out of order"
        assert (event.type is EventType.ADDED) == (uid not in self.pods), "lost or doubled"
        self.versions.append(version)
        if event.type is EventType.DELETED:
            del self.pods[uid]
        else:
            self.pods[uid] = event.record

    def _list(self) -> Watch:
        self.lists += 1
        listing = self.store.list(POD)
        self.pods = {each.uid: each for each in listing.records}
        self.versions = [listing.version]
        return self.store.watch(POD, listing.version)


def pods(names: list[str]) -> list[bytes]:
    """Bodies of new pods."""
    return [bodies.typed(POD, bodies.pod(name, namespace=SPACE)) for name in names]


def made(store: Store, *names: str) -> list[Record]:
    """Create pods; all must be accepted."""
    return [done(reply) for reply in store.create(POD, pods(list(names)))]


def done(reply: Reply) -> Record:
    """The record of a write that must have been accepted."""
    assert reply.outcome is WriteOutcome.OK, reply.message
    assert reply.record is not None
    return reply.record
