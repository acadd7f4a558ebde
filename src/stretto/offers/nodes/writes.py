"""Writes of pods of tasks: repeated until they are answered, with at most one start of each task.

A creation is repeated under the same name, which is unique to the launch. The pod has a finalizer
and remains in the store until the master has read it. A repetition therefore always finds the pod
of the first attempt, even if another client has deleted the pod since. The master removes the
finalizer of pods that are being deleted.
"""

from collections.abc import Callable, Iterator, Mapping
from math import inf
from typing import Final, Generic, NamedTuple, TypeVar

from stretto.api.edit.patch import PatchType
from stretto.api.wire.kinds import POD
from stretto.base.errors import NotAllowedError
from stretto.offers.nodes.pods import FINALIZER, FRAMEWORK, TaskLaunch
from stretto.reconcile.cache import Change, Name, StoredObject
from stretto.stores.store import (
    Deletion,
    ListOptions,
    Patch,
    Replies,
    Reply,
    StatusReason,
    Store,
    WriteOutcome,
    is_temporary,
)

RETRY: Final = 1.0
"""Seconds before a write with an unknown or temporary result is repeated."""
LONGEST_RETRY: Final = 60.0
"""Maximum seconds before a refused deletion or release is repeated.

The delay doubles after each refusal, because the right may be granted later.
"""
_GONE: Final = frozenset({StatusReason.NOT_FOUND, StatusReason.CONFLICT})
_RELEASED: Final = {"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}}
_T = TypeVar("_T")


class RefusedLaunch(NamedTuple):
    """A launch whose pod the store rejects."""

    #: The launch.
    launch: TaskLaunch
    #: Reason.
    text: str


class _Creation(NamedTuple):
    """A pod to create."""

    #: The launch.
    launch: TaskLaunch
    #: The pod, as JSON.
    body: bytes


class _PodName(NamedTuple):
    """A pod to delete or release."""

    #: Namespace.
    namespace: str
    #: Name.
    name: str
    #: Uid; empty if the pod has not been read yet.
    uid: str = ""

    @classmethod
    def of(cls, pod: StoredObject) -> "_PodName":
        """The name of a pod that has been read."""
        return cls(pod.record.namespace, pod.record.name, pod.record.uid)


def release_all(store: Store, namespace: str) -> int:
    """Remove the finalizer from all pods of tasks, because no master tracks them any more.

    Returns:
        The number of these pods.

    Raises:
        NotAllowedError: the store refuses the write of a pod.
    """
    listed = store.list(POD, ListOptions(namespace=namespace, labels=FRAMEWORK)).records
    pods = [StoredObject(each) for each in listed]
    held = [each for each in pods if FINALIZER in each.metadata.get("finalizers", ())]
    replies = store.patch(POD, [_release_of(_PodName.of(each)) for each in held])
    for pod, reply in zip(held, replies, strict=True):
        if reply.outcome is not WriteOutcome.OK and reply.code not in _GONE:
            hint = "grant the right to patch pods, and repeat the command"
            raise NotAllowedError(f"releasing pod {pod.record.name}", reply.message, hint)
    return len(held)


def _release_of(pod: _PodName) -> Patch:
    return Patch(pod.namespace, pod.name, _RELEASED, uid=pod.uid, type=PatchType.STRATEGIC)


class _DueWrites(Generic[_T]):
    """Writes of one kind by namespace and name of the pod; all are sent together."""

    def __init__(self) -> None:
        self.items: dict[Name, _T] = {}
        self.due = inf
        self._refusals: dict[Name, str] = {}
        self._delay = RETRY

    def add(self, name: Name, item: _T, at: float) -> None:
        """Send a write at a time, together with all other waiting writes."""
        self.items[name] = item
        self.due = min(self.due, at)

    def take(self, now: float) -> dict[Name, _T]:
        """Writes to send now; an unanswered write must be added again."""
        if self.due > now:
            return {}
        taken, self.items, self.due = self.items, {}, inf
        return taken

    def repeat(self, sent: Mapping[Name, _T], replies: Replies, at: float) -> None:
        """Send the writes with unknown or temporary results again."""
        for (name, item), reply in zip(sent.items(), replies, strict=True):
            if is_temporary(reply):
                self.add(name, item, at)

    def insist(self, sent: Mapping[Name, _T], replies: Replies, now: float) -> None:
        """Send refused writes again as well, with a longer delay after each refusal."""
        self.repeat(sent, replies, now + RETRY)
        pairs = zip(sent.items(), replies, strict=True)
        refused = [(name, item, each.message) for (name, item), each in pairs if _is_refused(each)]
        for name, item, _ in refused:
            self.add(name, item, now + self._delay)
        self._refusals = {name: message for name, _, message in refused}
        self._delay = min(2 * self._delay, LONGEST_RETRY) if refused else RETRY

    @property
    def refusals(self) -> dict[Name, str]:
        """Reasons why the store refuses writes that will be sent again."""
        return {name: text for name, text in self._refusals.items() if name in self.items}


class PodWrites:
    """The unanswered writes of pods of tasks."""

    def __init__(self, store: Store, namespace: str) -> None:
        """Initialize with the store and the namespace of the pods."""
        #: Launches whose pods have not been read yet, by namespace and name of the pod.
        self.launched: dict[Name, TaskLaunch] = {}
        self._store = store
        self._namespace = namespace
        self._creations = _DueWrites[_Creation]()
        self._deletions = _DueWrites[_PodName]()
        self._releases = _DueWrites[_PodName]()

    @property
    def next_due(self) -> float:
        """Time at which the next write is due; infinity for none."""
        return min(self._creations.due, self._deletions.due, self._releases.due)

    @property
    def refusals(self) -> dict[Name, str]:
        """Pods that the store forbids to delete or release, with the reasons."""
        return self._deletions.refusals | self._releases.refusals

    def create(self, launch: TaskLaunch, body: bytes, now: float) -> None:
        """Create the pod of a launch."""
        name = self._namespace, launch.pod_name
        self.launched[name] = launch
        self._creations.add(name, _Creation(launch, body), now)

    def delete(self, pod: StoredObject, now: float) -> None:
        """Delete a pod, unless it is being deleted."""
        if not pod.is_terminating:
            self._deletions.add(pod.name, _PodName.of(pod), now)

    def delete_unseen(self, name: Name, now: float) -> None:
        """Delete the pod of a launch after its creation is answered."""
        self._deletions.add(name, _PodName(*name), now)

    def note(self, change: Change, now: float) -> None:
        """Record that a pod has been read: it was created, and its deletion may finish."""
        name, pod = change.object.name, change.new
        self._creations.items.pop(name, None)
        self.launched.pop(name, None)
        if pod is None:
            self._deletions.items.pop(name, None)
            self._releases.items.pop(name, None)
        elif pod.is_terminating and FINALIZER in pod.metadata.get("finalizers", ()):
            self._releases.add(name, _PodName.of(pod), now)

    def send(self, now: float, is_wanted: Callable[[TaskLaunch], bool]) -> Iterator[RefusedLaunch]:
        """Send due writes; yield launches that the store refuses.

        Args:
            now: clock time.
            is_wanted: returns true if a launch has tasks that have not ended.
        """
        yield from self._create(now, is_wanted)
        self._delete(now)
        self._release(now)

    def _create(
        self, now: float, is_wanted: Callable[[TaskLaunch], bool]
    ) -> Iterator[RefusedLaunch]:
        """Create pods, except for tasks that have ended since."""
        wanted = self._creations.take(now)
        for name in [name for name, each in wanted.items() if not is_wanted(each.launch)]:
            del wanted[name], self.launched[name]
        if not wanted:
            return
        replies = self._store.create(POD, [each.body for each in wanted.values()])
        self._creations.repeat(wanted, replies, now + RETRY)
        for (name, creation), reply in zip(wanted.items(), replies, strict=True):
            if not (_is_done(reply) or is_temporary(reply)):
                del self.launched[name]
                text = f"The store refuses the pod: {reply.message}"
                yield RefusedLaunch(creation.launch, text)

    def _delete(self, now: float) -> None:
        """Delete pods, after their creation is answered."""
        taken, creating = self._deletions.take(now), self._creations.items
        for name in taken.keys() & creating.keys():
            self._deletions.add(name, taken.pop(name), now + RETRY)
        if taken:
            replies = self._store.delete(POD, [Deletion(*each) for each in taken.values()])
            self._deletions.insist(taken, replies, now)

    def _release(self, now: float) -> None:
        """Remove the finalizer of pods that are being deleted."""
        taken = self._releases.take(now)
        patches = [_release_of(each) for each in taken.values()]
        if taken:
            self._releases.insist(taken, self._store.patch(POD, patches), now)


def _is_done(reply: Reply) -> bool:
    """True if the pod exists after the creation."""
    return reply.outcome is WriteOutcome.OK or reply.code is StatusReason.ALREADY_EXISTS


def _is_refused(reply: Reply) -> bool:
    """True if the write is refused until rights or rules change."""
    return not (reply.outcome is WriteOutcome.OK or reply.code in _GONE or is_temporary(reply))
