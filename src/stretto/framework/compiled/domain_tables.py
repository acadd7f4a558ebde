"""Inter-pod rules compiled for the kernels: constraints of classes over tallies, as arrays.

A *tally* counts a population by the domains of a key, over the nodes of a mask. For a *host key*
(the host name, which is unique for each node), each node is a domain, and a constraint is
slot-local except for the minimum count; such tallies keep a histogram of counts instead of sums.
"""

from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

CAP: Final = 512
"""Number of counts of one node that a histogram distinguishes.

The minimum of all nodes is lower.
"""
NO_TALLY: Final = -1
"""Tally of constraints that count no pod."""
EVERYWHERE: Final = 0
"""The mask of all live nodes."""


class ConstraintKind(IntEnum):
    """Kind of a constraint."""

    #: Never satisfied: the terms are invalid.
    NEVER = 0
    #: A pod of the tally must be in the domain, unless there is none and the class may be the
    #: first.
    NEAR = 1
    #: No pod of the tally may be in the domain.
    FAR = 2
    #: The count of the domain, including the pod, exceeds the minimum by at most the skew.
    HARD = 3
    #: Fewer pods above the emptiest domain are better.
    SOFT = 4
    #: Weights of preferred terms; the last term of a key also has the constants of the key.
    PREFERRED = 5


class DomainTable(NamedTuple):
    """Constraints of classes, shared by the shards of a profile."""

    #: int32[class]: first constraint, host keys first, then key by key.
    start: npt.NDArray[np.int32]
    #: int32[class]: end of the constraints (exclusive).
    stop: npt.NDArray[np.int32]
    #: int32[constraint]: ``ConstraintKind``.
    kind: npt.NDArray[np.int32]
    #: int32[constraint]: tally, or ``NO_TALLY``.
    tally: npt.NDArray[np.int32]
    #: int32[constraint]: key.
    key: npt.NDArray[np.int32]
    #: int32[constraint]: skew, weight, or 1 if a NEAR class matches its own terms.
    first: npt.NDArray[np.int32]
    #: int32[constraint]: own count (HARD), constraints (SOFT), largest weight of the key
    #: (PREFERRED).
    second: npt.NDArray[np.int32]
    #: int32[constraint]: minimum domains (HARD), sum of the largest weights of all keys
    #: (PREFERRED).
    third: npt.NDArray[np.int32]
    #: int32[class]: first population that counts a pod of the class.
    counted_start: npt.NDArray[np.int32]
    #: int32[class]: end of these populations (exclusive).
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
    #: int32[tally]: offset of its sums (or its histogram).
    tally_offset: npt.NDArray[np.int32]
    #: int32[key, slot]: domain of each slot; 0 if the node lacks the label.
    domain: npt.NDArray[np.int32]
    #: int32[key, block]: the domain of all nodes of a block; -1 if they differ.
    block_domain: npt.NDArray[np.int32]
    #: int32[key]: number of domains, including 0.
    domains: npt.NDArray[np.int32]
    #: uint8[key]: 1 for a host key.
    is_host: npt.NDArray[np.uint8]
    #: uint8[key]: 1 if each block lies in one domain.
    is_even: npt.NDArray[np.uint8]
    #: uint8[mask, slot]: 1 if the node counts.
    mask: npt.NDArray[np.uint8]
    #: Weight of affinity in the profile.
    affinity_weight: int
    #: Weight of spreading in the profile.
    spread_weight: int
    #: Version of the meaning of the compiled tables: stamps of rows contain it.
    salt: int


class DomainState(NamedTuple):
    """Counts of one shard."""

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
    #: int64[entry]: other inputs of the maxima of an entry of the class cache.
    stamp: npt.NDArray[np.int64]


class InterPodProgram(NamedTuple):
    """The inter-pod constraints of a kernel call."""

    #: Constraints of classes.
    table: DomainTable
    #: Counts of the shard.
    state: DomainState
