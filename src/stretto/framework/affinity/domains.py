"""Topology keys and node masks: the domain of each node and the nodes that a constraint counts.

A key is a node label over which a rule spreads or co-locates pods; its values get numbers in the
order of their first appearance. A mask selects the nodes that a spread constraint counts: nodes
that have all its labels, match the node affinity of the pod, and have only taints that the pod
tolerates, according to the inclusion policies. Node changes are recorded by slot and applied at the
next read.
"""

from collections.abc import Hashable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.api.wire.labels import HOSTNAME_LABEL
from stretto.framework.compiled.domain_tables import EVERYWHERE
from stretto.framework.contract.rule import View
from stretto.framework.plugins.node_affinity import NodeAffinityRule
from stretto.framework.plugins.taints import TaintTolerationRule
from stretto.state.classes.table import PodClass
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.slots import BLOCK
from stretto.state.rows.snapshot import Columns

MANY: Final = 8
"""Divisor: everything is rebuilt when more than one slot in this number changed."""


class _NodeMask(NamedTuple):
    """The conditions under which a node counts."""

    #: Keys that a node must have.
    keys: tuple[int, ...]
    #: A class whose node affinity must match the node; ``None`` to ignore node affinity.
    by_affinity: PodClass | None
    #: A class that must tolerate the taints of the node; ``None`` to ignore taints.
    by_taints: PodClass | None


class DomainMap:
    """Domains of slots by key, and masks."""

    def __init__(self, cluster: Cluster) -> None:
        """Start without keys and with the mask that includes every node."""
        #: int32[key, slot]: domain; 0 where the node lacks the label.
        self.domain: npt.NDArray[np.int32] = np.zeros((0, 0), np.int32)
        #: int32[key, block]: the domain that all nodes of a block share; -1 where they differ.
        self.block_domain: npt.NDArray[np.int32] = np.zeros((0, 0), np.int32)
        #: uint8[mask, slot]: 1 where the node counts.
        self.mask: npt.NDArray[np.uint8] = np.zeros((1, 0), np.uint8)
        #: Keys by number.
        self.keys: list[str] = []
        #: uint8[key]: 1 for a host key.
        self.is_host: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        #: Values of each key's domains, by number; empty for host keys.
        self.values: list[list[str]] = []
        #: Increases when the domain of a slot, or its membership in a mask, may have changed.
        self.version: int = 0
        #: Increases when numbers change their meaning: new slots, or a key that is no longer a host
        #: key.
        self.layout: int = 0
        self._cluster = cluster
        self._view = View(Columns(cluster.ledger), cluster.nodes)
        self._affinity = NodeAffinityRule({})
        self._taints = TaintTolerationRule({})
        self._numbers: dict[str, int] = {}
        self._domains: list[dict[str, int]] = []
        self._masks: list[_NodeMask] = [_NodeMask((), None, None)]
        self._mask_numbers: dict[Hashable, int] = {}
        self._stale: set[int] = set()
        self._void = True
        cluster.node_updates.listeners.append(self._note)

    @property
    def size(self) -> int:
        """Number of slots."""
        return int(self.domain.shape[1])

    @property
    def domains(self) -> npt.NDArray[np.int32]:
        """int32[key]: number of domains, 0 included."""
        sizes = [
            self.size + 1 if host else len(values)
            for host, values in zip(self.is_host.tolist(), self.values, strict=True)
        ]
        return np.array(sizes, np.int32)

    @property
    def is_even(self) -> npt.NDArray[np.uint8]:
        """uint8[key]: 1 where each block lies in one domain."""
        return np.asarray((self.block_domain >= 0).all(axis=1), np.uint8)

    def key(self, name: str) -> int:
        """The number of a key, created on first use."""
        found = self._numbers.get(name)
        if found is not None:
            return found
        self._numbers[name] = found = len(self.keys)
        self.keys.append(name)
        self.values.append([""])
        self._domains.append({})
        self.is_host = np.append(self.is_host, np.uint8(0))
        blocks = self.size // BLOCK
        self.domain = np.vstack([self.domain, np.zeros((1, self.size), np.int32)])
        self.block_domain = np.vstack([self.block_domain, np.zeros((1, blocks), np.int32)])
        self._fill_key(found)
        return found

    def mask_of(
        self, pod: PodClass, keys: tuple[int, ...], *, by_affinity: bool, by_taints: bool
    ) -> int:
        """The number of a mask for a class."""
        affinity = self._affinity.filter_signature(pod) if by_affinity else None
        taints = self._taints.filter_signature(pod) if by_taints else None
        name = (keys, affinity, (taints,) if by_taints else None)
        if not keys and affinity is None and not by_taints:
            return EVERYWHERE
        found = self._mask_numbers.get(name)
        if found is not None:
            return found
        self._mask_numbers[name] = found = len(self._masks)
        made = _NodeMask(keys, pod if affinity is not None else None, pod if by_taints else None)
        self._masks.append(made)
        slots = np.arange(self.size)
        self.mask = np.vstack([self.mask, self._counts(made, slots)[None]])
        return found

    def catch_up(self) -> npt.NDArray[np.int64]:
        """Apply pending changes; return the affected slots, or all of them after a new layout."""
        size = self._cluster.nodes.size
        if self._void or size != self.size or len(self._stale) * MANY > size:
            self._renew(size)
            return np.arange(size)
        if not self._stale:
            return np.zeros(0, np.int64)
        slots = np.array(sorted(self._stale), np.int64)
        self._stale.clear()
        hosts = self.is_host.copy()
        for key in range(len(self.keys)):
            self._fill(key, slots)
        for number, mask in enumerate(self._masks):
            self.mask[number, slots] = self._counts(mask, slots)
        if not np.array_equal(hosts, self.is_host):
            self._renew(size)
            return np.arange(size)
        self.version += 1
        return slots

    def _note(self, slots: npt.NDArray[np.int64]) -> None:
        self._stale.update(slots.tolist())

    def _renew(self, size: int) -> None:
        """Rebuild everything."""
        self._void = False
        self._stale.clear()
        self.domain = np.zeros((len(self.keys), size), np.int32)
        self.block_domain = np.zeros((len(self.keys), size // BLOCK), np.int32)
        self.values = [[""] for _ in self.keys]
        self._domains = [{} for _ in self.keys]
        for key in range(len(self.keys)):
            self._fill_key(key)
        slots = np.arange(size)
        self.mask = np.stack([self._counts(mask, slots) for mask in self._masks])
        self.version += 1
        self.layout += 1

    def _fill_key(self, key: int) -> None:
        self.is_host[key] = self._is_host(key)
        self._fill(key, np.arange(self.size))

    def _fill(self, key: int, slots: npt.NDArray[np.int64]) -> None:
        """Set the domains of some slots."""
        labels = self._cluster.nodes.labels
        pairs = labels.column(self.keys[key])[slots]
        if self.keys[key] == HOSTNAME_LABEL:
            self.is_host[key] = self._is_host(key)
        if self.is_host[key]:
            self.domain[key, slots] = np.where(pairs > 0, slots + 1, 0)
        else:
            known, values = self._domains[key], self.values[key]
            distinct, inverse = np.unique(pairs, return_inverse=True)
            numbers = np.zeros(len(distinct), np.int32)
            for i, pair in enumerate(distinct.tolist()):
                if pair:
                    value = labels.pair_value(pair)
                    numbers[i] = number = known.setdefault(value, len(values))
                    if number == len(values):
                        values.append(value)
            self.domain[key, slots] = numbers[inverse]
        self._fill_blocks(key, np.unique(slots // BLOCK))

    def _fill_blocks(self, key: int, blocks: npt.NDArray[np.int64]) -> None:
        """Update the flag of blocks that lie in one domain; empty blocks have no domain."""
        inside = self.domain[key].reshape(-1, BLOCK)[blocks]
        live = self._cluster.nodes.live.reshape(-1, BLOCK)[blocks] > 0
        top = np.where(live, inside, -1).max(axis=1, initial=-1)
        low = np.where(live, inside, np.iinfo(np.int32).max).min(
            axis=1, initial=np.iinfo(np.int32).max
        )
        self.block_domain[key, blocks] = np.where(top < 0, 0, np.where(top == low, top, -1))

    def _is_host(self, key: int) -> bool:
        """Return whether each node has its own value of a key."""
        if self.keys[key] != HOSTNAME_LABEL:
            return False
        pairs = self._cluster.nodes.labels.column(HOSTNAME_LABEL)
        there = pairs[pairs > 0]
        return len(np.unique(there)) == len(there)

    def _counts(self, mask: _NodeMask, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """uint8[k]: 1 where a node counts."""
        counts = self._cluster.nodes.live[slots] > 0
        for key in mask.keys:
            counts &= self.domain[key, slots] > 0
        if mask.by_affinity is not None:
            counts &= self._affinity.filter(mask.by_affinity, self._view, slots)
        if mask.by_taints is not None:
            counts &= self._taints.filter(mask.by_taints, self._view, slots)
        return counts.astype(np.uint8)
