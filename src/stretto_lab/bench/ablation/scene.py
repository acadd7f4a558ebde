"""The scene of the ablation bench: a plane with running pods, and rounds of pods through it."""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any, Final

import msgspec

from stretto.base import collector
from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.framework.engine.runtime import Runtime
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.sim.writes import batches
from stretto_lab.bench.engine.objects import SUBMIT, BenchObjects
from stretto_lab.bench.engine.options import EngineBenchOptions

ZONES: Final = 10
"""Zones of the nodes."""
SAMPLES: Final = 200
"""Repetitions of the measurement of a single part."""


def _nothing() -> None:
    """Do nothing; the default action before a measured one."""


class AblationOptions(msgspec.Struct, frozen=True):
    """Cluster and rounds of the ablation bench."""

    #: Nodes.
    nodes: int = 5000
    #: Running pods per node.
    running_per_node: int = 20
    #: Pods of one round.
    pods: int = 2048
    #: Distinct classes of pods.
    classes: int = 200
    #: Rounds of each variant; the medians are reported.
    rounds: int = 3
    #: Seed of every draw.
    seed: int = 0


class Ablation(msgspec.Struct, frozen=True):
    """One optimisation and its plain counterpart."""

    #: The optimisation.
    part: str
    #: The plain counterpart.
    plain: str
    #: Unit of the measurement: a sync, a pod, a change.
    each: str
    #: Microseconds with the optimisation.
    fast_us: float
    #: Microseconds of the counterpart.
    plain_us: float
    #: CPU microseconds per pod in the whole engine; null if the engine does not use the part.
    whole_us: float | None = None
    #: CPU microseconds per pod with the counterpart.
    whole_plain_us: float | None = None

    @property
    def factor(self) -> float:
        """Speed-up of the part alone."""
        return self.plain_us / self.fast_us

    @property
    def whole_factor(self) -> float | None:
        """Speed-up of the whole engine."""
        if self.whole_us is None or self.whole_plain_us is None:
            return None
        return self.whole_plain_us / self.whole_us


class AblationScene:
    """A plane over a cluster with running pods."""

    def __init__(self, ablation: AblationOptions, shards: int = 1) -> None:
        """Create the plane, and place pods of each class, as in a server with some history."""
        #: Options.
        self.ablation = ablation
        #: Wall time.
        self.clock = WallClock()
        options = EngineBenchOptions(
            nodes=ablation.nodes,
            running=ablation.nodes * ablation.running_per_node,
            classes=ablation.classes,
            constrained=0.3,
            zones=ZONES,
        )
        #: The store, its nodes and the source of pods.
        self.objects = BenchObjects(options, self.clock, Rng(ablation.seed), {})
        config = PlaneConfig(profile=load_profile("default"), seed=ablation.seed, shards=shards)
        #: The scheduler.
        self.plane = Plane(config, self.objects.store, self.clock)
        self.plane.run_until_idle()
        self._made = 0
        self.round(pods=max(ablation.pods, 2 * ablation.classes))
        collector.settle()

    @property
    def runtime(self) -> Runtime:
        """The engine and the snapshot of the first shard."""
        runtime = self.plane.shards[0].default.runtime
        assert isinstance(runtime, Runtime)  # the runtime of the default profile
        return runtime

    def classes(self) -> list[int]:
        """Classes that have pods."""
        return [c for c, users in enumerate(self.plane.cluster.classes.users) if users]

    def admitting(self, class_id: int) -> list[int]:
        """Slots whose static rules admit a class."""
        engine, slots = self.plane.engine, self.plane.cluster.nodes.live_slots()
        return [slot for slot in slots.tolist() if engine.is_eligible(class_id, slot)]

    def round(
        self, *, pods: int = 0, at_once: int = SUBMIT, before: Callable[[], None] = _nothing
    ) -> float:
        """Place pods and delete them again; return CPU microseconds per placed pod.

        Args:
            pods: number of pods; by default that of the options.
            at_once: pods written between two steps of the plane.
            before: called before each of these steps; its time is included.
        """
        bodies = self.objects.templates.bodies(pods or self.ablation.pods)
        first, self._made = self._made, self._made + len(bodies)
        start = _cpu_seconds()
        for batch in batches(bodies, at_once):
            before()
            self.objects.submit(batch)
            self.plane.step()
        self.plane.run_until_idle()
        took = _cpu_seconds() - start
        self.objects.delete(range(first, self._made))
        self.plane.run_until_idle()
        return 1e6 * took / len(bodies)

    def compare(self, owner: Any, method: str, plain: Callable[..., Any]) -> tuple[float, float]:
        """Median rounds with the optimisation and with one method replaced, alternating."""
        fast, slow = [], []
        for _ in range(self.ablation.rounds):
            fast.append(self.round())
            with replaced(owner, method, plain):
                slow.append(self.round())
        return median(fast), median(slow)


def scene_time(
    act: Callable[[], object],
    before: Callable[[], None] = _nothing,
    samples: int = SAMPLES,
) -> float:
    """Median CPU microseconds of ``act``, without the time of ``before``."""
    times = []
    for _ in range(samples):
        before()
        start = _cpu_seconds()
        act()
        times.append(_cpu_seconds() - start)
    return 1e6 * median(times)


@contextmanager
def replaced(owner: Any, method: str, plain: Callable[..., Any]) -> Iterator[None]:
    """Replace one method of one object within the context."""
    setattr(owner, method, plain)
    try:
        yield
    finally:
        delattr(owner, method)


def _cpu_seconds() -> float:
    """CPU time of this process so far, all threads, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
