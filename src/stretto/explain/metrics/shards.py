"""Facts about shards: preferred nodes, pods in progress and outcomes of decisions."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.control.scheduler.partition import Partitions
from stretto.control.scheduler.shard import MOST_LOOPS
from stretto.control.scheduler.sub_clusters import EVERYTHING, SubClusters
from stretto.explain.records.recorder import StepBatch, StepKind
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.resources import CPU
from stretto.state.rows.slots import BLOCK
from stretto.state.work.units import Units


class WaitingWork(NamedTuple):
    """Pending units and the sub-clusters that partition them."""

    #: Every unit.
    units: Units
    #: The sub-clusters; ``None`` for none.
    sub_clusters: SubClusters | None


class LoopFacts(msgspec.Struct, frozen=True):
    """One scheduling loop of a shard."""

    #: The sub-cluster whose pods it places; empty for the default loop over all nodes.
    sub_cluster: str
    #: Number of nodes that it tries first.
    nodes: int
    #: Number of pending pods of this loop, for any shard.
    waiting: int


class ShardFacts(msgspec.Struct, frozen=True):
    """One shard."""

    #: Number of the shard.
    shard: int
    #: Number of nodes that it tries first.
    nodes: int
    #: Share of all CPU on these nodes, 0 to 1.
    cpu_share: float
    #: Number of pods dispatched to it without a decision yet.
    in_hand: int = 0
    #: Number of pods that it placed.
    placed: int = 0
    #: Number of its claims that lost a conflict or were refused by the store.
    refused: int = 0
    #: Number of attempts in which it found no node.
    no_place: int = 0
    #: Scheduling loops of the shard, the default loop first.
    loops: tuple[LoopFacts, ...] = ()


Outcomes = Mapping[tuple[int, StepKind], int]
"""Numbers of pods by shard and kind of step."""


def outcomes_of(steps: Iterable[StepBatch]) -> Outcomes:
    """Count the outcomes of recorded steps."""
    counts: Counter[tuple[int, StepKind]] = Counter()
    for batch in steps:
        counts[batch.shard, batch.kind] += len(batch.serials)
    return counts


def shard_facts(
    cluster: Cluster,
    numbers: Iterable[int],
    outcomes: Outcomes | None = None,
    work: WaitingWork | None = None,
) -> list[ShardFacts]:
    """Return facts about every shard of a cluster.

    A single shard owns all nodes. The loops are those that the pending pods need now.

    Args:
        cluster: nodes and pods.
        numbers: numbers of the shards.
        outcomes: outcomes of their decisions; ``None`` if unknown.
        work: the pending units; ``None`` to leave out the loops.
    """
    numbers = list(numbers)
    slots, ledger = cluster.ledger.slots, cluster.ledger
    owners = Partitions().update(slots, numbers, ledger)
    live = cluster.nodes.live_slots()
    owner_of = owners[live // BLOCK]
    cpu = ledger.alloc[live, CPU]
    whole = int(cpu.sum())
    waiting = _waiting(work) if work is not None else {}
    known = outcomes or {}
    return [
        ShardFacts(
            shard=number,
            nodes=int((owner_of == number).sum()),
            cpu_share=int(cpu[owner_of == number].sum()) / whole if whole else 0.0,
            placed=known.get((number, StepKind.PLACED), 0),
            refused=known.get((number, StepKind.REFUSED), 0),
            no_place=known.get((number, StepKind.NO_PLACE), 0),
            loops=_loops(owner_of == number, live, work, waiting) if work is not None else (),
        )
        for number in numbers
    ]


def _waiting(work: WaitingWork) -> dict[str, int]:
    """Count pending pods by the sub-cluster whose loop places them."""
    named: Counter[str] = Counter()
    known = work.sub_clusters
    for unit in work.units:
        if unit.pending:
            name = EVERYTHING if known is None else known.of_rows(unit.pending)
            named[name] += len(unit.pending)
    own = sorted(name for name in named if name and known is not None and known.has_nodes(name))
    own = own[:MOST_LOOPS]  # the set of loops beyond the limit depends on the arrival order
    found = {name: named[name] for name in own}
    return {EVERYTHING: named.total() - sum(found.values()), **found}


def _loops(
    mine: npt.NDArray[np.bool_],
    live: npt.NDArray[np.int64],
    work: WaitingWork,
    waiting: dict[str, int],
) -> tuple[LoopFacts, ...]:
    """The loops of a shard, given the live nodes that it tries first."""
    found = []
    for name, pods in waiting.items():
        first = mine
        if name != EVERYTHING and work.sub_clusters is not None:
            inside = work.sub_clusters.slots(name)[live]
            first = inside & mine if (inside & mine).any() else inside
        found.append(LoopFacts(name, int(first.sum()), pods))
    return tuple(found)
