"""Inter-pod rules compiled for the kernels: constraints of classes over tallies, as arrays.

A *tally* is a population by the domains of a key, over the nodes of a mask. On a *host key* (the
host name, where every node has its own) each node is its domain, and a constraint is
slot-local except for the least count; such tallies keep a histogram of counts instead of sums.
"""

from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

CAP: Final = 512
"""Counts of one node that a histogram distinguishes; the least of all nodes is never as high."""
NO_TALLY: Final = -1
"""Tally of constraints that count no pod."""
EVERYWHERE: Final = 0
"""The mask of all live nodes."""


class ConstraintKind(IntEnum):
    """Kind of a constraint."""

    #: Never satisfied: the terms are invalid.
    NEVER = 0
    #: A pod of the tally must be in the domain, or in none at all and the class may be the first.
    NEAR = 1
    #: No pod of the tally may be in the domain.
    FAR = 2
    #: The domain's count, the pod itself included, is at most the skew above the least.
    HARD = 3
    #: The fewer pods above the least domain, the better.
    SOFT = 4
    #: Weights of preferred terms, the last of a key with what the key counts.
    PREFERRED = 5


class DomainTable(NamedTuple):
    """Constraints of classes, shared by the shards of a profile."""

    #: int32[class]: first constraint, host keys first, then key by key.
    start: npt.NDArray[np.int32]
    #: int32[class]: after the last constraint.
    stop: npt.NDArray[np.int32]
    #: int32[constraint]: ``ConstraintKind``.
    kind: npt.NDArray[np.int32]
    #: int32[constraint]: tally, or ``NO_TALLY``.
    tally: npt.NDArray[np.int32]
    #: int32[constraint]: key.
    key: npt.NDArray[np.int32]
    #: int32[constraint]: skew, weight, or 1 where a NEAR class meets its own terms.
    first: npt.NDArray[np.int32]
    #: int32[constraint]: own count (HARD), constraints (SOFT), largest weight of the key
    #: (PREFERRED).
    second: npt.NDArray[np.int32]
    #: int32[constraint]: least domains (HARD), largest weights of all keys in sum (PREFERRED).
    third: npt.NDArray[np.int32]
    #: int32[class]: first of the populations that a pod of the class counts in.
    counted_start: npt.NDArray[np.int32]
    #: int32[class]: after the last of them.
    counted_stop: npt.NDArray[np.int32]
    #: int32[entry]: these populations.
    counted: npt.NDArray[np.int32]
    #: int32[population]: its first tally; -1 for none.
    tally_first: npt.NDArray[np.int32]
    #: int32[tally]: the next tally of the same population; -1 for none.
    tally_next: npt.NDArray[np.int32]
    #: int32[tally]: population.
    tally_population: npt.NDArray[np.int32]
    #: int32[tally]: key.
    tally_key: npt.NDArray[np.int32]
    #: int32[tally]: mask.
    tally_mask: npt.NDArray[np.int32]
    #: int32[tally]: where its sums (or its histogram) begin.
    tally_offset: npt.NDArray[np.int32]
    #: int32[key, slot]: domain of each slot; 0 where the node lacks the label.
    domain: npt.NDArray[np.int32]
    #: int32[key, block]: the one domain of a block's nodes; -1 where they differ.
    block_domain: npt.NDArray[np.int32]
    #: int32[key]: domains, 0 included.
    domains: npt.NDArray[np.int32]
    #: uint8[key]: 1 for a host key.
    is_host: npt.NDArray[np.uint8]
    #: uint8[key]: 1 where each block lies in one domain.
    is_even: npt.NDArray[np.uint8]
    #: uint8[mask, slot]: 1 where the node counts.
    mask: npt.NDArray[np.uint8]
    #: Weight of affinity in the profile.
    affinity_weight: int
    #: Weight of spreading in the profile.
    spread_weight: int
    #: Rises when the compiled tables change meaning: stamps of rows start from it.
    salt: int


class DomainState(NamedTuple):
    """Counts as one shard sees them."""

    #: int16[population, slot]: pods.
    pods: npt.NDArray[np.int16]
    #: int32[entry]: pods by domain, or nodes by count on a host key.
    sums: npt.NDArray[np.int32]
    #: int32[entry]: nodes that count by domain.
    nodes: npt.NDArray[np.int32]
    #: int32[tally]: pods in all domains.
    total: npt.NDArray[np.int32]
    #: int32[tally]: domains with a node that counts.
    present: npt.NDArray[np.int32]
    #: int64[entry]: what else the maxima of an entry of the class cache follow from.
    stamp: npt.NDArray[np.int64]


class InterPodProgram(NamedTuple):
    """The inter-pod constraints, as a kernel call gets them."""

    #: Constraints of classes.
    table: DomainTable
    #: Counts of the shard.
    state: DomainState
