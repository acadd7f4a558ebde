"""The roles of the nodes of a TideNodePool, stored in Katalyst's labels and taints.

A node has one role at a time: it is reserved for a side, or it switches between the sides. Roles
are stored only on the nodes, so that they survive a restart.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from stretto.api.checks.tides import TideSettings, count_of, tide_settings
from stretto.api.types.capacity.tides import (
    TideLabel,
    TideNodeConfigs,
    TideNodePool,
    TideNodePoolSpec,
    TideTaint,
)
from stretto.api.types.core import Taint
from stretto.api.wire.meta import ObjectMeta
from stretto.state.nodes.taints import NO_EXECUTE, NO_SCHEDULE

POD_TYPE: Final = "tide.katalyst.kubewharf.io/pod-type"
"""Label of pods with the value ``online``; all other pods are offline."""
NODE_POOL: Final = "tide.katalyst.kubewharf.io/node-pool"
"""Label of nodes with the name of their pool."""
NODE_TYPE: Final = "tide.katalyst.kubewharf.io/node-type"
"""Label of nodes with the value ``online`` or ``offline``, unless the pool has other labels."""
RESERVE: Final = "tide.katalyst.kubewharf.io/reserve"
"""Label of nodes with the value ``true`` if they never switch, otherwise ``false``."""
TIDE: Final = "tide.katalyst.kubewharf.io/tide"
"""Label of nodes that switch, with the value ``true``, unless the pool has another label."""
ONLINE_NOT_USED: Final = "tide.katalyst.kubewharf.io/online-not-used"
"""Taint of offline nodes, unless the pool has another taint."""
OFFLINE_NOT_USED: Final = "tide.katalyst.kubewharf.io/offline-not-used"
"""Taint of online nodes, unless the pool has another taint."""
FINALIZER: Final = "tide.katalyst.kubewharf.io/finalizer"
"""Finalizer of pools: the labels and taints of their nodes are removed first."""
SWITCHED: Final = "tide.stretto.dev/switched"
"""Annotation of nodes with the RFC 3339 time of their last switch."""
_ONLINE, _OFFLINE, _TRUE, _FALSE = "online", "offline", "true", "false"


class NodeRole(Enum):
    """Purpose of a node of a pool."""

    #: For online pods, always.
    RESERVED_ONLINE = "reserved online"
    #: For offline pods, always.
    RESERVED_OFFLINE = "reserved offline"
    #: For online pods, until it switches.
    ONLINE = "online"
    #: For offline pods, until it switches.
    OFFLINE = "offline"


RESERVED: Final = frozenset({NodeRole.RESERVED_ONLINE, NodeRole.RESERVED_OFFLINE})
"""Roles of nodes that never switch."""


Taints = list[dict[str, str]]
"""The taints of a node, as JSON."""
Labels = dict[str, str | None]
"""Labels to merge; ``None`` removes a label."""


class TidePool:
    """A TideNodePool with its defaults."""

    def __init__(self, pool: TideNodePool) -> None:
        """Set the labels and taints for which the pool uses the defaults.

        Raises:
            InputError: an annotation is malformed.
        """
        configs, marks = pool.spec.node_configs, pool.spec.evict_strategy.watermark
        #: Name of the pool.
        self.name = pool.metadata.name
        #: Settings of its annotations.
        self.settings: TideSettings = tide_settings(pool.metadata.annotations, "annotations")
        #: Taint of online nodes, which offline pods do not tolerate.
        self.against_offline = _taint(marks.evict_offline_pod_taint, OFFLINE_NOT_USED)
        #: Taint of offline nodes, which online pods do not tolerate.
        self.against_online = _taint(marks.evict_online_pod_taint, ONLINE_NOT_USED)
        self._selector = configs.node_selector
        self._reserve = configs.reserve
        self._online = configs.online_label or TideLabel(NODE_TYPE, _ONLINE)
        self._offline = configs.offline_label or TideLabel(NODE_TYPE, _OFFLINE)
        self._tide = configs.tide_label or TideLabel(TIDE, _TRUE)

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether a node with these labels belongs to this pool and to no other one."""
        if labels.get(NODE_POOL, self.name) != self.name:
            return False
        return all(labels.get(key) == value for key, value in self._selector.items())

    def has(self, labels: Mapping[str, str]) -> bool:
        """Return whether the pool has given a role to a node with these labels."""
        return labels.get(NODE_POOL) == self.name

    def role_of(self, labels: Mapping[str, str]) -> NodeRole | None:
        """Role of a node; ``None`` for a node without a role."""
        if not self.has(labels):
            return None
        is_online, is_offline = _has(labels, self._online), _has(labels, self._offline)
        if labels.get(RESERVE) == _TRUE and is_online != is_offline:
            return NodeRole.RESERVED_ONLINE if is_online else NodeRole.RESERVED_OFFLINE
        if not _has(labels, self._tide) or is_online == is_offline:
            return None
        return NodeRole.ONLINE if is_online else NodeRole.OFFLINE

    def reserved(self, nodes: int) -> tuple[int, int]:
        """Numbers of nodes that stay online and that stay offline in a pool of this size."""
        online = min(count_of(self._reserve.online, nodes, "reserve.online", up=True), nodes)
        offline = count_of(self._reserve.offline, nodes, "reserve.offline")
        return online, min(offline, nodes - online)

    def most_switching(self, nodes: int) -> int:
        """Number of nodes that may switch at the same time.

        A percentage of ``nodes`` is rounded up.
        """
        return count_of(self.settings.most_switching, nodes, "max-switching", up=True)

    def labels_of(self, role: NodeRole) -> Labels:
        """The labels of a node in a role."""
        mine, other = self._online, self._offline
        if role in (NodeRole.RESERVED_OFFLINE, NodeRole.OFFLINE):
            mine, other = other, mine
        is_reserved = role in RESERVED
        labels: Labels = {other.key: None, mine.key: mine.value, NODE_POOL: self.name}
        labels[RESERVE] = _TRUE if is_reserved else _FALSE
        labels[self._tide.key] = None if is_reserved else self._tide.value
        return labels

    def no_labels(self) -> Labels:
        """Labels of a node that leaves the pool."""
        keys = (self._online.key, self._offline.key, self._tide.key, RESERVE, NODE_POOL)
        return dict.fromkeys(keys)

    def taints_of(self, role: NodeRole | None, taints: Iterable[Mapping[str, str]]) -> Taints:
        """Taints of a node that has switched; taints of other owners stay.

        Args:
            role: role of the node; ``None`` for a node that leaves the pool.
            taints: current taints of the node.
        """
        own = {self.against_online.key, self.against_offline.key}
        kept = [dict(each) for each in taints if each.get("key") not in own]
        if role is None:
            return kept
        taint = self.against_offline if role is NodeRole.ONLINE else self.against_online
        return [*kept, {"key": taint.key, "value": taint.value, "effect": taint.effect}]

    def draining(self, taints: Taints) -> Taints:
        """Taints of a node whose offline pods are evicted: its taint only excludes new pods."""
        return [{**each, "effect": NO_SCHEDULE} if self._evicts(each) else each for each in taints]

    def is_draining(self, taints: Iterable[Mapping[str, str]]) -> bool:
        """Return whether the offline pods of a node with these taints are evicted now."""
        wanted = self.against_offline
        found = (wanted.key, NO_SCHEDULE)
        return wanted.effect == NO_EXECUTE and any(
            (each.get("key"), each.get("effect")) == found for each in taints
        )

    def _evicts(self, taint: Mapping[str, str]) -> bool:
        found = (taint.get("key"), taint.get("effect"))
        return found == (self.against_offline.key, NO_EXECUTE)


def default_pool(name: str) -> TideNodePool:
    """A pool with the default labels and taints, and without a reserve."""
    return TideNodePool(ObjectMeta(name=name), TideNodePoolSpec(TideNodeConfigs()))


def assigned(pool: TidePool, roles: Mapping[str, NodeRole | None]) -> dict[str, NodeRole]:
    """Roles of all nodes of a pool, including new nodes and changes of the reserve.

    New nodes fill the online reserve, then the offline reserve; other new nodes begin online. If a
    reserve becomes smaller, its nodes switch from now on; if it becomes larger, nodes of the same
    side fill it. The side of a node does not change.

    Args:
        pool: the pool.
        roles: the previous role of each node; ``None`` for a new node.
    """
    found = {name: roles[name] for name in sorted(roles)}
    wanted = pool.reserved(len(found))
    sides = (
        (NodeRole.RESERVED_ONLINE, NodeRole.ONLINE, wanted[0]),
        (NodeRole.RESERVED_OFFLINE, NodeRole.OFFLINE, wanted[1]),
    )
    for reserved, switching, most in sides:
        kept = [name for name, role in found.items() if role is reserved]
        found.update(dict.fromkeys(kept[most:], switching))
        missing = most - len(kept)
        spare = [name for name, role in found.items() if role is None]
        spare += [name for name, role in found.items() if role is switching]
        found.update(dict.fromkeys(spare[: max(missing, 0)], reserved))
    return {name: role or NodeRole.ONLINE for name, role in found.items()}


def _has(labels: Mapping[str, str], label: TideLabel) -> bool:
    return labels.get(label.key) == label.value


def _taint(stated: TideTaint | None, key: str) -> Taint:
    if stated is None:
        return Taint(key=key, value=_TRUE, effect=NO_EXECUTE)
    return Taint(key=stated.key, value=stated.value, effect=stated.effect or NO_EXECUTE)
