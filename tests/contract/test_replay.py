"""A reader that lists once and then only watches has the same state as a fresh list."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import POD
from stretto.base.errors import TooOldError
from stretto.stores.store import EventType, Patch, Record, Replies, Watch, WriteOutcome
from tests.contract import bodies
from tests.contract.shorthand import SPACE, Desk
from tests.contract.subjects import Subject

NAMES = "abc"
VERBS = ("create", "patch", "status", "update", "delete", "bind", "hold", "free", "evict")

steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(VERBS), st.lists(st.sampled_from(NAMES), min_size=1, max_size=3)),
        st.tuples(st.just("read"), st.integers(0, 1)),
        st.tuples(st.just("poll"), st.integers(0, 1)),
    ),
    min_size=4,
    max_size=40,
)


class Reader:
    """Keeps a picture of all pods by one list and the changes after it."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.pods: dict[str, Record] = {}
        self.seen: list[int] = []
        self.since = 0
        self.watch: Watch = desk.watch()
        self.list()

    def list(self) -> None:
        """Restart."""
        listing = self.desk.store.list(POD)
        self.pods = {record.uid: record for record in listing.records}
        self.since, self.seen = listing.version, []
        self.watch = self.desk.store.watch(POD, listing.version)

    def poll(self, count: int = 0) -> None:
        """Take in what has changed."""
        try:
            events = self.desk.read(self.watch, count)
        except TooOldError:
            self.list()
            return
        for event in events:
            self.seen.append(event.record.version)
            known = self.pods.get(event.record.uid)
            assert (event.type is EventType.ADDED) == (known is None)
            assert known is None or event.record.version > known.version
            if event.type is EventType.DELETED:
                del self.pods[event.record.uid]
            else:
                self.pods[event.record.uid] = event.record

    def catch_up(self, later: set[int]) -> None:
        """Apply changes until all these versions were seen, or until no event arrives."""
        while missing := later - {*self.seen}:
            seen = len(self.seen)
            self.poll(len(missing))
            if len(self.seen) == seen:
                return

    def settle(self) -> None:
        """Apply further events: an eviction is answered without its version."""

        def agrees() -> bool:
            self.poll()
            return self.pods == {each.uid: each for each in self.desk.store.list(POD).records}

        self.desk.subject.comes(agrees)


def act(desk: Desk, verb: str, names: list[str]) -> Replies:
    """One write call on several pods."""
    store = desk.store
    pods = [record for name in names if (record := store.get(POD, SPACE, name)) is not None]
    match verb:
        case "create":
            made = [bodies.typed(POD, bodies.pod(name, namespace=SPACE)) for name in names]
            return store.create(POD, made)
        case "patch":
            change: dict[str, Any] = {"metadata": {"labels": {"n": str(len(desk.names()))}}}
            return store.patch(POD, [Patch(SPACE, name, change) for name in names])
        case "status":
            return store.patch_status(
                POD, [Patch(SPACE, n, {"status": {"phase": n}}) for n in names]
            )
        case "update":
            return [desk.update(pod, {"extra": pod.version}, pod.version) for pod in pods]
        case "delete":
            return [desk.delete(pod, uid=pod.uid) for pod in pods]
        case "bind":
            return [desk.bind(pod, "n1") for pod in pods]
        case "evict":
            return [desk.evict(pod) for pod in pods]
    held = ["stretto.dev/hold"] if verb == "hold" else None
    return [desk.patch(pod, {"metadata": {"finalizers": held}}) for pod in pods]


@settings(max_examples=4 * settings().max_examples)
@given(plan=steps)
def test_a_list_and_a_watch_from_its_version_leave_no_gap(
    subject: Subject, plan: list[Any]
) -> None:
    with subject.open() as store:
        desk = Desk(store, subject)
        desk.node("n1")
        readers = [Reader(desk), Reader(desk)]
        written: list[int] = []
        for verb, argument in plan:
            if verb == "read":
                readers[argument].list()
            elif verb == "poll":
                readers[argument].poll()
            else:
                before = store.list(POD).version
                replies = act(desk, verb, argument)
                written += sorted(changes(replies, before))
        for reader in readers:
            later = {version for version in written if version > reader.since}
            reader.catch_up(later)
            reader.settle()
            marks = set() if store.capabilities.removes_in_one_step else {*reader.seen}
            assert reader.seen == sorted(later | marks)
            assert reader.pods == {record.uid: record for record in store.list(POD).records}


def changes(replies: Replies, before: int) -> set[int]:
    """Versions of the changes that a write call has made."""
    return {
        reply.record.version
        for reply in replies
        if reply.outcome is WriteOutcome.OK and reply.record and reply.record.version > before
    }
