"""Master of frameworks over an API server: it offers the nodes of the cluster while it leads.

Scheduler and master share one ledger. The scheduler steps in a separate thread, requests run on the
event loop, and each acquires the turn first. Neither waits for the API server while it has the
turn, so a silent server stops neither heartbeats nor answers. A new leader reads the stored state
of the master and lists every kind before it decides. Until then, and while another process leads,
requests are answered with 307 and the address of the leader, or with 503 if there is no leader. A
term ends with the lease: its streams are closed, and frameworks subscribe to the next leader.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Final

import msgspec

from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto.base.rng import Rng
from stretto.daemons.leader import LeaderThread
from stretto.daemons.logs import Log
from stretto.daemons.retrying_store import RetryingStore, StoppedError
from stretto.daemons.turn import Turn, TurnStore
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.subjects.settings import AllocatorSettings
from stretto.offers.master.core.settings import MasterSettings
from stretto.offers.master.master import CycleTime, Master
from stretto.offers.master.server.host import HostThreads, MasterHost
from stretto.offers.master.server.serve import ServerSettings, application, serve_application
from stretto.offers.master.server.standby import StandbyApp
from stretto.offers.master.state.outbox import AgentMessage
from stretto.offers.master.storage.contract import MasterJournal
from stretto.offers.master.storage.objects import MasterObjects
from stretto.offers.master.storage.recovery import recover
from stretto.offers.nodes.pods import PodSettings
from stretto.offers.nodes.pool import OfferedNodes
from stretto.plane.config import PlaneConfig
from stretto.plane.offers import OfferingPlane
from stretto.serving.tasks import end_tasks
from stretto.stores.kube.store import KubeStore
from stretto.stores.lease import LeaderElector
from stretto.stores.store import Store

LONGEST_SLEEP: Final = 0.5
"""Longest wait in seconds without a check of the lease."""
SHORTEST_SLEEP: Final = 0.005
"""Minimum pause of an idle loop in seconds."""
AGAIN_AFTER: Final = 1.0
"""Seconds between an error and a new term."""


class ClusterMasterConfig(msgspec.Struct, frozen=True):
    """A master over the nodes of a cluster."""

    #: The scheduler in the same process.
    plane: PlaneConfig
    #: The master; if a state is stored, its id replaces this one.
    master: MasterSettings
    #: Settings of the allocator.
    allocation: AllocatorSettings
    #: Settings of the server.
    server: ServerSettings
    #: Settings of the pods of tasks.
    pods: PodSettings
    #: Name of the stored state, in the namespace of the pods.
    name: str = "stretto-master"


class TermThreads(msgspec.Struct, frozen=True):
    """The threads of one term, in addition to the event loop."""

    #: The right to change the state, one thread at a time.
    turn: Turn
    #: Runs the steps of the scheduler.
    stepper: ThreadPoolExecutor
    #: Writes the state of the master.
    writer: ThreadPoolExecutor
    #: Called when a message to a node waits for the next step.
    wake: Callable[[], None]

    @classmethod
    def start(cls, wake: Callable[[], None]) -> "TermThreads":
        """Create idle threads."""
        return cls(
            Turn(),
            ThreadPoolExecutor(1, thread_name_prefix="stretto-step"),
            ThreadPoolExecutor(1, thread_name_prefix="stretto-state"),
            wake,
        )

    def stop(self) -> None:
        """Wait until the running work has ended."""
        self.stepper.shutdown(cancel_futures=True)
        self.writer.shutdown(cancel_futures=True)


class MasterTerm:
    """One term of leadership: a master, a scheduler and the ledger that they share."""

    def __init__(
        self,
        config: ClusterMasterConfig,
        store: Store,
        clock: Clock,
        rng: Rng,
        threads: TermThreads,
    ) -> None:
        """Read the stored state and build the plane.

        Args:
            config: settings of the parts.
            store: the cluster.
            clock: source of all times.
            rng: source of ids.
            threads: step the scheduler and write the state.
        """
        stored = MasterObjects(store, config.pods.namespace, config.name)
        known = stored.identity()
        settings = msgspec.structs.replace(
            config.master, id=known.id if known is not None else rng.uid()
        )
        allocation = msgspec.structs.replace(
            config.allocation,
            interval=settings.allocation_interval,
            region=settings.region or None,
            nested_quota=True,  # queues have limits at every level
        )
        allocator = make_allocator(rng, allocation)
        master = Master(settings, allocator, clock, rng, CycleTime.ON_CALL)
        recover(master.state, stored)
        #: Scheduler and nodes.
        beside = TurnStore(store, threads.turn)
        self.pool = OfferingPlane(config.plane, beside, clock, master.state, config.pods)
        self._turn = threads.turn
        journal = MasterJournal(stored, master.state)
        hosting = HostThreads(threads.turn, threads.writer)
        #: The master.
        self.host = MasterHost(
            master, clock, journal, _WakingNodes(self.pool.nodes, threads.wake), hosting
        )
        #: Serves requests.
        self.app = application(self.host, config.server, clock)

    @property
    def is_synced(self) -> bool:
        """Return whether every kind has been listed."""
        return self.pool.plane.pump.synced

    def step(self) -> bool:
        """Step the scheduler, on any thread; return whether anything changed."""
        with self._turn:
            return self.pool.plane.step()

    def close(self) -> None:
        """End all streams and watches."""
        self.host.close()
        self.pool.close()


class _WakingNodes:
    """The nodes as local agents; a message to one wakes the loop."""

    def __init__(self, nodes: OfferedNodes, wake: Callable[[], None]) -> None:
        self._nodes = nodes
        self._wake = wake

    def claim(self) -> None:
        """Charge the resources that the master uses on nodes."""
        self._nodes.claim()

    def deliver(self, message: AgentMessage) -> bool:
        """Deliver a message to the agent of a node."""
        if not self._nodes.deliver(message):
            return False
        self._wake()
        return True


class MasterDaemon:
    """One process of the master."""

    def __init__(
        self,
        config: ClusterMasterConfig,
        store: KubeStore,
        elector: LeaderElector | None,
        clock: Clock,
        log: Log,
    ) -> None:
        """Create an idle daemon; without an elector it always leads."""
        self._config = config
        self._store = store
        self._elector = elector
        self._clock = clock
        self._log = log
        self._rng = Rng(config.plane.seed).child("master", f"{clock.now():.6f}")
        self._terms = 0
        self._leading: LeaderThread | None = None
        self._over = False

    async def run(self) -> None:
        """Serve until SIGINT or SIGTERM.

        Raises:
            InputError: the address is reachable without protection.
            NotAllowedError: the lease may not be read or written.
            Exception: the unexpected error that ended a term, or the renewal of the lease.
        """
        self._config.server.check()
        news = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wake() -> None:
            """Wake the loop; called by any thread."""
            loop.call_soon_threadsafe(news.set)

        standby = StandbyApp(self._leader)
        with ExitStack() as stack:
            stack.callback(self._store.subscribe(lambda _: wake()))
            if self._elector is not None:
                self._store.fence(self._elector.leads)
                leading = LeaderThread(self._elector, self._clock, self._log, self._store.is_quiet)
                self._leading = stack.enter_context(leading)
            work = loop.create_task(self._work(standby, news, wake))
            serving = loop.create_task(serve_application(standby, self._config.server))
            try:
                with suppress(asyncio.CancelledError):  # a stop request that the server repeats
                    await asyncio.wait((serving, work), return_when=asyncio.FIRST_COMPLETED)
            finally:
                self._over = True
                news.set()
                await end_tasks(serving, work)

    async def _work(
        self, standby: StandbyApp, news: asyncio.Event, wake: Callable[[], None]
    ) -> None:
        """Lead whenever this process has the lease.

        Raises:
            NotAllowedError: the lease may not be read or written.
            Exception: the unexpected error that ended a term, or the renewal of the lease.
        """
        while True:
            if self._leading is not None:
                self._leading.check()
            if not self._leads():
                await asyncio.sleep(SHORTEST_SLEEP * 20)
                continue
            try:
                await self._lead(standby, news, wake)
            except StoppedError:
                self._log.info("no longer leading")
            except StrettoError as error:
                self._log.error(f"the term ends, a new one follows: {error}")
                await asyncio.sleep(AGAIN_AFTER)

    async def _lead(
        self, standby: StandbyApp, news: asyncio.Event, wake: Callable[[], None]
    ) -> None:
        """Run one term."""
        self._log.info("leading: reading the state of the master and all objects")
        self._store.prepare()
        steady = RetryingStore(self._store, self._clock, self._check, self._log.trouble)
        self._terms += 1
        rng = self._rng.child(self._terms)
        threads, loop = TermThreads.start(wake), asyncio.get_running_loop()
        term: MasterTerm | None = None
        timers: asyncio.Task[None] | None = None
        try:
            term = await loop.run_in_executor(
                threads.stepper, MasterTerm, self._config, steady, self._clock, rng, threads
            )
            while True:
                self._check()
                moved = await loop.run_in_executor(threads.stepper, term.step)
                if term.is_synced:
                    term.host.step()
                self._log.trouble("pods of tasks", term.pool.nodes.tasks.trouble)
                if timers is None and term.is_synced:
                    timers = loop.create_task(term.host.run_timers())
                    standby.lead(term.app)
                    nodes = len(term.pool.plane.cluster.nodes.by_name)
                    self._log.info("offering", nodes=nodes)
                if timers is not None and timers.done():
                    timers.result()
                await self._rest(term, news, moved=moved)
        finally:
            standby.stand_by()
            if timers is not None:
                timers.cancel()
                with suppress(asyncio.CancelledError, StrettoError):
                    await timers
            self._store.abandon()
            await asyncio.to_thread(threads.stop)
            if term is not None:
                term.close()

    async def _rest(self, term: MasterTerm, news: asyncio.Event, *, moved: bool) -> None:
        """Yield to requests; if there is no work, wait until there is some."""
        if moved:
            await asyncio.sleep(0)
            return
        due = term.pool.next_due() - self._clock.monotonic()
        with suppress(TimeoutError):
            async with asyncio.timeout(min(LONGEST_SLEEP, max(SHORTEST_SLEEP, due))):
                await news.wait()
        news.clear()

    def _leader(self) -> str:
        """Address of the leader; empty if it is unknown."""
        holder = "" if self._elector is None else self._elector.holder
        return holder.partition("_")[0]

    def _leads(self) -> bool:
        return self._elector is None or self._elector.leads()

    def _check(self) -> None:
        """Raise if the term must end."""
        if self._over or not self._leads():
            raise StoppedError
