"""The state that a page shows, and the sources of states."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from stretto.api.wire.kinds import Kind
from stretto.explain.metrics.shards import ShardFacts
from stretto.explain.story import Story
from stretto.explain.why.scene import Scene
from stretto.state.cluster.cluster import Cluster
from stretto.stores.store import Record
from stretto.web.views.decisions import PodDecision


class ViewedState(NamedTuple):
    """One state of a scheduler; it does not change while it is open."""

    #: Nodes, pods, rules and queues.
    scene: Scene
    #: Returns the objects of a kind.
    records: Callable[[Kind], Sequence[Record]]
    #: Seconds of the run, or wall time, of the state; ``None`` if unknown.
    at: float | None = None
    #: Returns the scheduler's shards; empty if unknown.
    shards: Callable[[], Sequence[ShardFacts]] = lambda: ()
    #: Reads the inputs of explanations of pods beyond nodes and queues.
    complete: Callable[[], None] = lambda: None


class Capability(NamedTuple):
    """Optional functions of a source beyond reading."""

    #: True if the state changes while it is shown.
    live: bool = False
    #: True if threads may read it; otherwise only the event loop, in which it changes.
    threaded: bool = True


class ViewSource(Protocol):
    """Source of the state for pages."""

    @property
    def title(self) -> str:
        """Name of the state, for display."""
        ...

    @property
    def capability(self) -> Capability:
        """The functions of the source."""
        ...

    @property
    def version(self) -> int:
        """A number that increases when the state changes; cheap to read."""
        ...

    @property
    def columns(self) -> Cluster:
        """The nodes, even during a step; only for numbers in columns, which may be half changed."""
        ...

    def open_nodes(self) -> AbstractContextManager[Cluster]:
        """Open only the nodes for the duration of a block; cheap, for layouts."""
        ...

    def open(self) -> AbstractContextManager[ViewedState]:
        """Open the state for the duration of a block; other threads wait meanwhile."""
        ...

    def story(self, pod: str) -> Story:
        """The steps of a pod, ``namespace/name``.

        Raises:
            NotFoundError: no such pod.
        """
        ...

    def decisions(self, after: int) -> tuple[int, Sequence[PodDecision]]:
        """Return recent decisions after a position, and the position of the last one."""
        ...
