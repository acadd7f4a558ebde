"""The store interface: synchronous calls, executed on the event loop."""

import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from stretto.api.wire.kinds import Kind
from stretto.base.rng import Rng
from stretto.stores.capabilities import Capabilities
from stretto.stores.kube.inquiries import ServerInquiries
from stretto.stores.kube.login.access import LoginSource
from stretto.stores.kube.selections import check_selection
from stretto.stores.kube.session import open_session
from stretto.stores.kube.transport.event_loop import LoopThread
from stretto.stores.kube.transport.options import KubeOptions
from stretto.stores.kube.watch import KubeWatch, WatchTarget
from stretto.stores.store import (
    EVERYTHING,
    Bind,
    ChangeCallback,
    Deletion,
    Eviction,
    Listing,
    ListOptions,
    Patch,
    Record,
    Replies,
    UnitReplies,
    Update,
    Watch,
    Write,
    bind_each,
)


class KubeStore:
    """An API server as a store. Any thread may call it; a call waits for its reply."""

    #: The guarantees of an API server.
    capabilities = Capabilities(
        binds_units=False,
        checks_nodes=False,
        shows_bound=False,
        counts_disruptions=False,
        removes_in_one_step=False,
        removes_bound_pods=False,
        keeps_unknown_fields=False,
        knows_its_newest=False,
        bounds_its_history=False,
        counts_generations=False,
        completes_claims=True,
        applies=True,
        answers_later=True,
    )

    def __init__(
        self,
        access: LoginSource,
        rng: Rng,
        options: KubeOptions = KubeOptions(),  # noqa: B008  (frozen)
    ) -> None:
        """Create a store; it connects with its first call.

        Args:
            access: server, trust and identity.
            rng: spreads waits, so that many clients do not retry at the same time.
            options: timeouts and limits.

        Raises:
            InputError: the credentials cannot be used.
        """
        self._rng = rng
        self._loop = LoopThread("stretto-kube")
        self._news = threading.Event()
        self._watches: list[KubeWatch] = []
        self._callbacks: tuple[ChangeCallback, ...] = ()
        try:
            session = self._loop.run(open_session(access, options, rng.child("waits")))
        except BaseException:
            self._loop.close(_nothing)
            raise
        self._session = session
        self._line, self._sender = session.line, session.sender
        self._reads, self._writes = session.reads, session.writes
        #: Inquiries about the server and its users.
        self.inquiries = ServerInquiries(self._loop, session)

    def fence(self, may_write: Callable[[], bool]) -> None:
        """Start no write while ``may_write`` returns False; it is called before each write.

        Leases and reviews are exempt.
        """
        self._sender.fence(may_write)

    def abandon(self) -> None:
        """Stop sending queued writes, except leases and reviews; their replies report it."""
        self._loop.run(self._sender.abandon())

    def is_quiet(self) -> bool:
        """Return whether no fenced write is in flight."""
        return not self._sender.under_way

    def prepare(self) -> None:
        """Open the connections that binds will use, in the background."""
        self._loop.start(self._session.prepare())

    # ------------------------------------------------------------ status

    def wait(self, seconds: float) -> bool:
        """Wait until a watch has changes, at most ``seconds``; return whether one has."""
        came = self._news.wait(max(0.0, seconds))
        self._news.clear()
        return came

    def troubles(self) -> dict[str, str]:
        """Errors of watches without a stream, by resource; empty if there are none."""
        live = [watch for watch in self._watches if not watch.is_closed]
        return {watch.kind.resource: watch.trouble for watch in live if watch.trouble}

    def absent(self) -> list[str]:
        """Watched resources that the server does not serve yet."""
        return sorted(each.kind.resource for each in self._watches if each.is_absent)

    # ------------------------------------------------------------ reads

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """Return the current object, or ``None``.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the permission to get the object is missing.
        """
        return self._loop.run(self._reads.get(kind, namespace, name))

    def get_at_once(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """Return the same as ``get``: both raise at once if the server does not answer."""
        return self.get(kind, namespace, name)

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """List the selected objects of a kind; empty if the server does not serve the kind.

        Raises:
            UnreachableError: the server does not answer.
            NotAllowedError: the permission to list them is missing.
            InputError: a selector or a page token is malformed.
            TooOldError: the page belongs to a list that is no longer kept.
        """
        return self._loop.run(self._reads.list(kind, selection))

    def begin_list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Future[Listing]:
        """Begin a list; the future raises the errors of ``list``."""
        return self._loop.start(self._reads.list(kind, selection))

    def watch(self, kind: Kind, since: int, selection: ListOptions = EVERYTHING) -> Watch:
        """Changes of the selected objects of a kind after version ``since``.

        Raises:
            InputError: a selector is malformed.
        """
        check_selection(selection)
        rng = self._rng.child("watch", kind.resource, since)
        target = WatchTarget(kind, selection, partial(self._notify, kind))
        watch = KubeWatch(target, since, self._line, rng)
        self._watches = [each for each in self._watches if not each.is_closed]
        self._watches.append(watch)
        watch.started(self._loop.start(watch.run()))
        return watch

    def subscribe(self, callback: ChangeCallback) -> Callable[[], None]:
        """Call ``callback`` on the event loop's thread when a watch of a kind has events."""
        self._callbacks = (*self._callbacks, callback)

        def end() -> None:
            self._callbacks = tuple(each for each in self._callbacks if each is not callback)

        return end

    def _notify(self, kind: Kind) -> None:
        """Report that a watch of a kind has changes; called on the event loop's thread."""
        for callback in self._callbacks:
            callback(kind)
        self._news.set()

    # ------------------------------------------------------------ writes

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        """Create objects."""
        return self._loop.run(self._writes.create(kind, bodies))

    def update(self, kind: Kind, updates: Sequence[Update]) -> Replies:
        """Replace objects."""
        return self._loop.run(self._writes.update(kind, updates))

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; their status does not change."""
        return self._loop.run(self._writes.patch(kind, patches, status=False))

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change only the status of objects, and annotations of pods."""
        return self._loop.run(self._writes.patch(kind, patches, status=True))

    def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        """Delete objects; those with finalizers, or on a node, are only marked."""
        return self._loop.run(self._writes.delete(kind, deletions))

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind pods to nodes; an existing binding of the same uid to the same node is ``ok``."""
        return self._loop.run(self._writes.bind(binds))

    def bind_units(self, units: Sequence[Sequence[Bind]]) -> UnitReplies:
        """Bind pods one by one: an API server has no transaction over several objects."""
        return bind_each(self, units)

    def begin(self, write: Write) -> Future[Replies]:
        """Send a batch; the replies arrive later, and then ``wait`` returns."""
        return self._begun(self._writes.perform(write))

    def _begun(self, work: Coroutine[Any, Any, Replies]) -> Future[Replies]:
        future = self._loop.start(work)
        future.add_done_callback(lambda _: self._news.set())
        return future

    def evict(self, evictions: Sequence[Eviction]) -> Replies:
        """Evict pods within their disruption budgets."""
        return self._loop.run(self._writes.evict(evictions))

    def allowances(self) -> Mapping[str, int]:
        """Empty: a controller counts budgets and writes their status."""
        return {}

    def close(self) -> None:
        """Close all connections and end the thread."""
        for watch in self._watches:
            watch.close()
        self._loop.close(self._line.close)


async def _nothing() -> None:
    """Do nothing: there is nothing to close yet."""
