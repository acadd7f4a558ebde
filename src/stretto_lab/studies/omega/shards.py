"""The shards study: throughput, conflicts and repeated work of shards with a decision time.

The plane is the real one: dispatcher, shards with their snapshots, binder and store, in virtual
time. A shard takes a snapshot, decides a batch, and delivers the plan ``decision_s`` later; commits
of other shards in that time may conflict with it. The single binder checks plans in the order in
which they are ready and needs ``commit_s`` per claim. Refused claims return through the dispatcher
with its retry rule. All pods are pending at the start, so the plane and not the arrivals limits the
throughput.
"""

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Final

import msgspec

from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.control.queues.config import DispatcherConfig
from stretto.explain.records.curves import CurvePlot, PlotLine, PlotTexts
from stretto.explain.words.amounts import format_count
from stretto.framework.profile.profile import load_profile
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.inputs.objects.objects import node_body
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.sim.bodies import PodEncoder
from stretto_lab.studies.omega.planning import SlowBacklog

NODE_CORES: Final = 32
"""Cores of a node; a node has four GiB per core."""
POD_CORES: Final = (1, 2, 4)
"""Cores of a pod, equally likely."""
ZONES: Final = 4
"""Zones of the nodes."""
POLICIES: Final = ("default", "packing")
"""Profiles: spreading (least allocated first) and packing (most allocated first)."""
REPEATED: Final = "repeated claims, % of pods"
"""Vertical axis of the plots of repeated work."""
APART: Final = "with partitions"
"""Name of the runs in which no two shards prefer the same nodes."""


class ShardStudy(msgspec.Struct, frozen=True):
    """Parameters of the sweep."""

    #: Nodes of 32 cores.
    nodes: int = 1000
    #: Pods of one, two and four cores; about 14 fill a node.
    pods: int = 10_000
    #: Numbers of shards, swept.
    shards: tuple[int, ...] = (1, 2, 4, 8)
    #: Seconds from the snapshot to the plan, swept.
    decisions_s: tuple[float, ...] = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1)
    #: Profiles: spreading and packing.
    policies: tuple[str, ...] = POLICIES
    #: Pods per decision.
    batch: int = 50
    #: Binder seconds per claim, as measured for check and bind.
    commit_s: float = 6e-6
    #: Seed of every draw.
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("nodes", "pods", "batch"):
            if getattr(self, name) < 1:
                raise InputError(name, getattr(self, name), "a whole number from 1 on")
        if any(not 0 <= each < inf for each in (*self.decisions_s, self.commit_s)):
            raise InputError("decisions_s", self.decisions_s, "seconds from 0 on")


class ShardPoint(msgspec.Struct, frozen=True):
    """Figures of one run."""

    #: Shards.
    shards: int
    #: Seconds from the snapshot to the plan.
    decision_s: float
    #: The profile: ``default`` spreads, ``packing`` packs.
    policy: str
    #: True if shards have partitions.
    partitions: bool
    #: Placed pods.
    placed: int
    #: Virtual seconds until the last pod was placed.
    took_s: float
    #: Pods per virtual second; null if no time passed.
    pods_per_s: float | None
    #: Refused claims in percent of all claims.
    conflicts_pct: float
    #: Refused claims in percent of the placed pods.
    redone_pct: float
    #: Nodes with a pod at the end, which packing minimises.
    nodes_used: int


def shard_points(study: ShardStudy) -> Iterator[ShardPoint]:
    """Run the study and yield its points."""
    nodes = [_node(number) for number in range(study.nodes)]
    pods = _pods(study)
    for shards, decision, policy, partitions in shard_runs(study):
        config = PlaneConfig(
            profile=load_profile(policy),
            shards=shards,
            batch=study.batch,
            partition=partitions,
            seed=study.seed,
            dispatcher=DispatcherConfig(safety_net=inf),
        )
        backlog = SlowBacklog(config, decision, study.commit_s)
        took = backlog.run(nodes, pods)
        yield _point(backlog.plane, decision, took)


def shard_runs(study: ShardStudy) -> Iterator[tuple[int, float, str, bool]]:
    """Yield the shards, decision time, policy and partitions of every run.

    Runs with one shard have no partitions.
    """
    for policy in study.policies:
        for shards in study.shards:
            for partitions in (True, False) if shards > 1 else (False,):
                for decision in study.decisions_s:
                    yield shards, decision, policy, partitions


def shard_plots(points: Sequence[ShardPoint]) -> list[CurvePlot]:
    """Plots: throughput and repeated work by decision time."""
    plots: list[CurvePlot] = []
    for policy in dict.fromkeys(each.policy for each in points):
        mine = [each for each in points if each.policy == policy and each.decision_s > 0]
        if not mine:
            continue
        how = "packing" if policy == "packing" else "spreading"
        along = "decision time of a batch (ms)"
        speed = [_line(found, _speed) for found in _groups(mine)]
        words = PlotTexts(_speed_title(how, mine), along, "pods per virtual second", log_x=True)
        plots.append(CurvePlot(f"shards-{how}-throughput", speed, words))
        worst = max(mine, key=_redone)
        title = f"Shards, {how}: {_label(worst)} repeat up to {worst.redone_pct:.0f} % of claims"
        words = PlotTexts(title, along, REPEATED, log_x=True, from_0=True, at_end=True)
        plots.append(CurvePlot(f"shards-{how}-redone", _redone_lines(mine), words))
    return plots


def _redone_lines(points: Sequence[ShardPoint]) -> list[PlotLine]:
    """Return one curve for each number of competing shards, and one for the worst other runs."""
    lines = [_line(each, _redone, marks=False) for each in _groups(points) if _competes(each[0])]
    apart: dict[float, float] = {}
    for each in points:
        if not _competes(each):
            time = 1000 * each.decision_s
            apart[time] = max(apart.get(time, 0.0), each.redone_pct)
    times = sorted(apart)
    return [*lines, PlotLine(APART, times, [apart[time] for time in times], 6, dashed=True)]


def _competes(point: ShardPoint) -> bool:
    """True if several shards place pods on the same nodes."""
    return point.shards > 1 and not point.partitions


def _groups(points: Sequence[ShardPoint]) -> Iterator[list[ShardPoint]]:
    """Yield the points of each number of shards, with partitions and without."""
    for shards in dict.fromkeys(each.shards for each in points):
        for partitions in (True, False):
            found = [e for e in points if (e.shards, e.partitions) == (shards, partitions)]
            if found:
                yield found


def _label(point: ShardPoint) -> str:
    apart = " without partitions" if _competes(point) else ""
    return f"{format_count(point.shards, 'shard')}{apart}"


def _line(
    found: Sequence[ShardPoint], value: Callable[[ShardPoint], float], *, marks: bool = True
) -> PlotLine:
    first = found[0]
    x = [1000 * each.decision_s for each in found]
    marks = marks and _competes(first)
    colour = first.shards.bit_length() - 1
    return PlotLine(_label(first), x, [value(each) for each in found], colour, marks=marks)


def _speed(point: ShardPoint) -> float:
    return point.pods_per_s or 0.0


def _redone(point: ShardPoint) -> float:
    return point.redone_pct


def _speed_title(how: str, points: Sequence[ShardPoint]) -> str:
    """Return a title with the best speed-up at the longest decision time."""
    longest = max(each.decision_s for each in points)
    late = [each for each in points if each.decision_s == longest]
    best = max(late, key=_speed)
    alone = max((_speed(each) for each in late if each.shards == 1), default=0.0)
    times = f" {_speed(best) / alone:.1f} times the pods of one" if alone else " the most pods"
    return f"Shards, {how}: {_label(best)} place{times} at {1000 * longest:,.0f} ms a decision"


def _point(plane: Plane, decision_s: float, took: float) -> ShardPoint:
    """Return the figures of a run from its plane; ``took`` is its virtual time in seconds."""
    counts = plane.binder.counts
    granted = counts["granted"]
    refused = sum(n for cause, n in counts.items() if cause not in ("granted", "bound"))
    pods = plane.cluster.pods
    slots = pods.slot[: pods.length]
    return ShardPoint(
        shards=plane.config.shards,
        decision_s=decision_s,
        policy=plane.config.profile.name,
        partitions=plane.config.partition and plane.config.shards > 1,
        placed=granted,
        took_s=round(took, 6),
        pods_per_s=round(granted / took, 1) if took else None,
        conflicts_pct=round(100 * refused / max(1, granted + refused), 3),
        redone_pct=round(100 * refused / max(1, granted), 3),
        nodes_used=len(set(slots[slots >= 0].tolist())),
    )


def _node(number: int) -> bytes:
    memory = NODE_CORES * 4096
    name, zone = f"n{number:05d}", f"zone-{number % ZONES}"
    return node_body(FleetNode(name, 1000 * NODE_CORES, memory, zone=zone, max_pods=110))


def _pods(study: ShardStudy) -> list[bytes]:
    """Create pods of mixed sizes in an order that is drawn by the seed."""
    bodies = PodEncoder()
    sizes = Rng(study.seed).child("pods").numpy().choice(POD_CORES, study.pods).tolist()
    return [
        bodies.body(FleetPod("pod", 1000 * cores, 2048 * cores), f"pod-{number:06d}")
        for number, cores in enumerate(sizes)
    ]
