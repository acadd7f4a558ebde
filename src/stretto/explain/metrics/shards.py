"""Shards: which nodes each tries first, what it has in hand, and what became of its decisions."""

from collections import Counter
from collections.abc import Iterable
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
    """What waits, and how it is told apart."""

    #: Every unit.
    units: Units
    #: The sub-clusters; ``None`` where there are none.
    sub_clusters: SubClusters | None


class LoopFacts(msgspec.Struct, frozen=True):
    """One scheduling loop of a shard."""

    #: Whose pods it places; empty for the loop that sees every node.
    sub_cluster: str
    #: Nodes that it tries first.
    nodes: int
    #: Pods that want a node and are for this loop, whichever shard takes them.
    waiting: int


class ShardFacts(msgspec.Struct, frozen=True):
    """One shard."""

    #: Its number.
    shard: int
    #: Nodes that it tries first.
    nodes: int
    #: Their part of all CPU, 0 to 1.
    cpu_share: float
    #: Pods that it was handed and has not answered.
    in_hand: int = 0
    #: Pods that it placed.
    placed: int = 0
    #: Claims of its that lost to others, or that the store refused.
    refused: int = 0
    #: Pods for which it found no node, as often as it tried.
    no_place: int = 0
    #: Its scheduling loops, the one that sees every node first.
    loops: tuple[LoopFacts, ...] = ()


def shard_facts(
    cluster: Cluster,
    numbers: Iterable[int],
    steps: Iterable[StepBatch] = (),
    work: WaitingWork | None = None,
) -> list[ShardFacts]:
    """Every shard over a cluster; what became of its decisions as far as steps tell.

    One shard alone has all nodes. Its loops are those that what waits now needs.
    """
    numbers = list(numbers)
    slots, ledger = cluster.ledger.slots, cluster.ledger
    owners = Partitions().update(slots, numbers, ledger)
    live = cluster.nodes.live_slots()
    owner_of = owners[live // BLOCK]
    cpu = ledger.alloc[live, CPU]
    whole = int(cpu.sum())
    waiting = _waiting(work) if work is not None else {}
    counts: Counter[tuple[int, StepKind]] = Counter()
    for batch in steps:
        counts[batch.shard, batch.kind] += len(batch.serials)
    return [
        ShardFacts(
            shard=number,
            nodes=int((owner_of == number).sum()),
            cpu_share=int(cpu[owner_of == number].sum()) / whole if whole else 0.0,
            placed=counts[number, StepKind.PLACED],
            refused=counts[number, StepKind.REFUSED],
            no_place=counts[number, StepKind.NO_PLACE],
            loops=_loops(owner_of == number, live, work, waiting) if work is not None else (),
        )
        for number in numbers
    ]


def _waiting(work: WaitingWork) -> dict[str, int]:
    """Pods that want a node, by the sub-cluster whose loop places them."""
    named: Counter[str] = Counter()
    known = work.sub_clusters
    for unit in work.units:
        if unit.pending:
            name = EVERYTHING if known is None else known.of_rows(unit.pending)
            named[name] += len(unit.pending)
    own = sorted(name for name in named if name and known is not None and known.has_nodes(name))
    own = own[:MOST_LOOPS]  # which of too many share the default loop depends on who came first
    found = {name: named[name] for name in own}
    return {EVERYTHING: named.total() - sum(found.values()), **found}


def _loops(
    mine: npt.NDArray[np.bool_],
    live: npt.NDArray[np.int64],
    work: WaitingWork,
    waiting: dict[str, int],
) -> tuple[LoopFacts, ...]:
    """The loops of a shard that tries some of the living nodes first."""
    found = []
    for name, pods in waiting.items():
        first = mine
        if name != EVERYTHING and work.sub_clusters is not None:
            there = work.sub_clusters.slots(name)[live]
            first = there & mine if (there & mine).any() else there
        found.append(LoopFacts(name, int(first.sum()), pods))
    return tuple(found)
