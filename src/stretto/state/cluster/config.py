"""Configuration of the cluster state."""

from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.state.classes.table import GPU

GPU_PRODUCT: Final = "nvidia.com/gpu.product"
"""Node label with the model of its GPUs."""
SCHEDULER_NAME: Final = "stretto"
"""Default ``schedulerName`` of pods for this scheduler."""


class ClusterConfig(msgspec.Struct, frozen=True):
    """Configuration of the cluster state."""

    #: ``schedulerName`` values of pods for this scheduler.
    scheduler_names: frozenset[str] = frozenset({SCHEDULER_NAME})
    #: Resources managed device by device, with the node label that contains their model.
    device_kinds: Mapping[str, str] = msgspec.field(default_factory=lambda: {GPU: GPU_PRODUCT})
    #: Priority of pods without a priority.
    default_priority: int = 0
    #: Number of blocks of each zone that are filled in parallel: the number of shards.
    fan_out: int = 1
    #: Shard whose annotated nodes are kept in blocks of their own; empty for none.
    shard: str = ""
    #: True if whole pods and nodes are kept too, for rules that read whole objects.
    whole: bool = False
    #: True if records of pods with PVCs or disks are kept, for volume rules.
    volumes: bool = False
    #: True if the images of nodes are kept, and pods' images are part of their class.
    images: bool = False
    #: True if nodes may promise more than they have, so that exclusive amounts are counted once.
    overcommits: bool = False
    #: ``schedulerName`` values whose pods may be preempted; ``None`` allows every pod.
    preemptible: frozenset[str] | None = None
