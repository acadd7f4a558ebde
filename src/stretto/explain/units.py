"""Shards: which nodes each tries first, what it has in hand, and what became of its decisions."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from stretto.control.dispatcher.partition import Partitions
from stretto.explain.recorder import StepBatch, StepKind
from stretto.state.cluster import Cluster
from stretto.state.resources import CPU
from stretto.state.slots import BLOCK


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


def shard_facts(
    cluster: Cluster, numbers: Iterable[int], steps: Iterable[StepBatch] = ()
) -> list[ShardFacts]:
    """Every shard over a cluster; what became of its decisions as far as steps tell.

    One shard alone has all nodes.
    """
    numbers = list(numbers)
    slots, ledger = cluster.ledger.slots, cluster.ledger
    owners = Partitions().update(slots, numbers, ledger)
    live = cluster.nodes.live_slots()
    owner_of = owners[live // BLOCK]
    cpu = ledger.alloc[live, CPU]
    whole = int(cpu.sum())
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
        )
        for number in numbers
    ]
