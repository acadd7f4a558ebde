"""Sources of the dashboard: a fixed state, and a running plane."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import RLock
from typing import Final

from stretto.api.wire.kinds import EVENT, POD, QUEUE, Kind
from stretto.explain.metrics.shards import ShardFacts, WaitingWork, shard_facts
from stretto.explain.story import Story, story_of_objects
from stretto.explain.why.queues import with_implicit_queues
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.sources.unhandled import FACT_KINDS, read_objects
from stretto.plane.plane import Plane
from stretto.state.cluster.cluster import Cluster
from stretto.stores.store import Record
from stretto.web.views.decisions import PodDecision
from stretto.web.views.outcomes import StepOutcomes
from stretto.web.views.state import Capability, ViewedState

FOLLOWED: Final = Capability(live=True)
"""The dashboard only reads a state that changes."""
StoryOf = Callable[[str], Story]
"""Returns the story of a pod, ``namespace/name``."""


class FixedSource:
    """A state that does not change: a run record, a scenario's end, a copy of a cluster."""

    def __init__(self, title: str, state: ViewedState, story: StoryOf) -> None:
        """Show one state.

        Args:
            title: name of the state, for display.
            state: the state that the pages show.
            story: returns the steps of a pod.
        """
        #: Name of the state.
        self.title = title
        #: The state can only be read.
        self.capability = Capability()
        #: The state does not change.
        self.version = 1
        self._story = story
        self._sight = state
        self._lock = RLock()

    @property
    def columns(self) -> Cluster:
        """The nodes of the state."""
        return self._sight.scene.cluster

    @contextmanager
    def open_nodes(self) -> Iterator[Cluster]:
        """The nodes of the state."""
        with self._lock:
            yield self._sight.scene.cluster

    @contextmanager
    def open(self) -> Iterator[ViewedState]:
        """Open the state for one reader at a time, because explanations keep caches in it."""
        with self._lock:
            yield self._sight

    def story(self, pod: str) -> Story:
        """Return the steps of a pod in the state."""
        with self._lock:
            return self._story(pod)

    def decisions(self, after: int) -> tuple[int, Sequence[PodDecision]]:
        """Return no decisions: a fixed state has none."""
        return after, ()


class PlaneSource:
    """A plane that runs, or only follows its store, in this process.

    The thread that runs the plane holds ``lock`` during a step; pages hold it while they read.
    """

    def __init__(self, title: str, plane: Plane, capability: Capability = FOLLOWED) -> None:
        """Show a plane.

        Args:
            title: name of the state, for display.
            plane: the plane.
            capability: the functions that the dashboard may use.
        """
        #: Name of the state.
        self.title = title
        #: The functions that the dashboard may use.
        self.capability = capability
        #: Held while the plane is stepped or read.
        self.lock = RLock()
        self._plane = plane
        self._outcomes = StepOutcomes(plane.cluster, plane.clock)
        plane.observers.append(self._outcomes.observe)

    @property
    def version(self) -> int:
        """A number that increases with each change of an object that the plane reads, or of use."""
        cluster = self._plane.cluster
        applied = sum(self._plane.pump.applied.values())
        return cluster.ledger.head + cluster.nodes.version + applied

    @property
    def columns(self) -> Cluster:
        """The nodes, even during a step."""
        return self._plane.cluster

    @contextmanager
    def open_nodes(self) -> Iterator[Cluster]:
        """The nodes between two steps of the plane."""
        with self.lock:
            yield self._plane.cluster

    @contextmanager
    def open(self) -> Iterator[ViewedState]:
        """The state between two steps of the plane."""
        plane = self._plane
        with self.lock:
            scene = live_scene(
                plane.cluster, plane.config.profile, plane.units, plane.dispatcher.views
            )
            records = cache(self._records)
            scene.queues = tuple(with_implicit_queues(scene.queues, records(QUEUE)))

            def complete() -> None:
                names = plane.config.cluster.scheduler_names
                objects = [each for kind in FACT_KINDS for each in records(kind)]
                scene.objects = read_objects(objects, plane.cluster, names)

            yield ViewedState(scene, records, plane.clock.now(), self._shards, complete)

    def story(self, pod: str) -> Story:
        """The steps of a pod, from its object and its events."""
        with self.lock:
            records = [*self._records(POD), *self._records(EVENT)]
        return story_of_objects(records, pod, self.title)

    def decisions(self, after: int) -> tuple[int, Sequence[PodDecision]]:
        """Return recent decisions after a position, and the position of the last one."""
        return self._outcomes.log.after(after)

    def _shards(self) -> Sequence[ShardFacts]:
        plane = self._plane
        numbers = [shard.number for shard in plane.shards]
        work = WaitingWork(plane.units, plane.sub_clusters)
        return shard_facts(plane.cluster, numbers, self._outcomes.counts, work)

    def _records(self, kind: Kind) -> Sequence[Record]:
        return self._plane.store.list(kind).records
