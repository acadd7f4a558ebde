"""Entries of kinds of Stretto, Gödel, Katalyst and the VPA: those with a CRD in ``deploy/crds``."""

from typing import Final

from stretto.api.checks import objects
from stretto.api.checks.scaling import check_scaling_policy
from stretto.api.checks.tides import check_tide_node_pool
from stretto.api.kinds import kept
from stretto.api.kinds.entry import AGE, KEEP_ALL, Column, KindEntry, grant
from stretto.api.kinds.vertical import VERTICAL_CHECKPOINT, VERTICAL_POD_AUTOSCALER
from stretto.api.types import cnr, godel
from stretto.api.types.capacity import overcommit, scaling, tides
from stretto.api.wire import kinds

_CATEGORIES: Final = ("stretto",)
_STATUS: Final = ("status",)

POD_GROUP: Final = KindEntry(
    kind=kinds.POD_GROUP,
    short_names=("pg",),
    categories=_CATEGORIES,
    subresources=_STATUS,
    columns=(
        Column("Phase", ".status.phase"),
        Column("MinMember", ".spec.minMember", "integer"),
        Column("Pending", ".status.pending", "integer"),
        Column("Running", ".status.running", "integer"),
        Column("Succeeded", ".status.succeeded", "integer", 1),
        Column("Failed", ".status.failed", "integer", 1),
        Column("Owner", ".status.occupiedBy", priority=1),
        AGE,
    ),
    struct=godel.PodGroup,
    check=objects.check_pod_group,
    rank=28,
    watched=True,
    warned=True,
    status_computed=True,
    examined=True,
    recorded=True,
    kept=KEEP_ALL,
    grants=(*grant("binder", "patch"), *grant("scheduler controller", "patch", "status")),
)
SCHEDULER: Final = KindEntry(
    kind=kinds.SCHEDULER,
    categories=_CATEGORIES,
    subresources=_STATUS,
    columns=(
        Column("Phase", ".status.phase"),
        Column("Heartbeat", ".status.lastUpdateTime", "date"),
        Column("Pending", ".status.metricsStatus.pendingPods", "integer"),
        Column("Host", ".status.currentHost", priority=1),
        AGE,
    ),
    struct=godel.Scheduler,
    grants=(
        *grant("dispatcher", "list watch delete"),
        *grant("shard", "get create"),
        *grant("shard", "patch", "status"),
    ),
)
MOVEMENT: Final = KindEntry(
    kind=kinds.MOVEMENT,
    categories=_CATEGORIES,
    subresources=_STATUS,
    columns=(
        Column("Creator", ".spec.creator"),
        Column("Generation", ".spec.generation", "integer"),
        AGE,
    ),
    struct=godel.Movement,
    rank=26,
    watched=True,
    warned=True,
    controller_only=True,
    examined=True,
    kept=KEEP_ALL,
    grants=(
        *grant("scheduler controller", "get create"),
        *grant("scheduler controller", "patch", "status"),
    ),
)
RESERVATION: Final = KindEntry(
    kind=kinds.RESERVATION,
    categories=_CATEGORIES,
    subresources=_STATUS,
    columns=(
        Column("Phase", ".status.phase"),
        Column("Node", ".spec.nodename"),
        Column("TTL", ".spec.ttl", "integer"),
        Column("Owner", ".status.currentOwners.name", priority=1),
        AGE,
    ),
    struct=godel.Reservation,
    rank=30,
    warned=True,
    controller_only=True,
    status_computed=True,
    examined=True,
    recorded=True,
    kept=kept.RESERVATION,
    grants=(
        *grant("scheduler controller", "create delete"),
        *grant("scheduler controller", "patch", "status"),
    ),
)
QUEUE: Final = KindEntry(
    kind=kinds.QUEUE,
    short_names=("sq",),
    categories=_CATEGORIES,
    subresources=_STATUS,
    columns=(
        Column("Parent", ".spec.parent"),
        Column("Policy", ".spec.policy"),
        Column("Weight", ".spec.weight", "integer"),
        Column("Guarantee", ".spec.guarantee"),
        Column("Used", ".status.used"),
        Column("Pending", ".status.pending", "integer"),
        Column("Running", ".status.running", "integer"),
        Column("Limit", ".spec.limit", priority=1),
        Column("Borrowed", ".status.borrowed", priority=1),
        Column("Share", ".status.shareMilli", "integer", 1),
        Column("State", ".status.state", priority=1),
        AGE,
    ),
    struct=godel.Queue,
    check=objects.check_queue,
    rank=22,
    watched=True,
    warned=True,
    status_computed=True,
    examined=True,
    recorded=True,
    kept=KEEP_ALL,
    grants=grant("scheduler controller", "patch", "status"),
)
CUSTOM_NODE_RESOURCE: Final = KindEntry(
    kind=kinds.CUSTOM_NODE_RESOURCE,
    short_names=("kcnr",),
    categories=_CATEGORIES,
    subresources=_STATUS,
    columns=(
        Column("Policy", ".status.topologyPolicy"),
        Column("Reclaimed", ".status.resources.allocatable"),
        AGE,
    ),
    struct=cnr.CustomNodeResource,
    rank=14,
    watched=True,
    warned=True,
    examined=True,
    recorded=True,
    kept=KEEP_ALL,
)
NM_NODE: Final = KindEntry(
    kind=kinds.NM_NODE,
    categories=_CATEGORIES,
    subresources=_STATUS,
    columns=(
        Column("Status", ".status.nodeStatus"),
        Column("Allocatable", ".status.resourceAllocatable"),
        AGE,
    ),
    struct=cnr.NmNode,
    rank=12,
    watched=True,
    warned=True,
    examined=True,
    recorded=True,
    kept=KEEP_ALL,
)
NODE_OVERCOMMIT_CONFIG: Final = KindEntry(
    kind=kinds.NODE_OVERCOMMIT_CONFIG,
    short_names=("noc",),
    categories=_CATEGORIES,
    subresources=_STATUS,
    columns=(
        Column("Pool", ".spec.nodeOvercommitSelectorVal"),
        Column("Ratio", ".spec.resourceOvercommitRatio"),
        AGE,
    ),
    struct=overcommit.NodeOvercommitConfig,
    check=objects.check_overcommit_config,
    rank=13,
    watched=True,
    warned=True,
    examined=True,
    recorded=True,
    kept=KEEP_ALL,
    grants=(*grant("overcommit", "list watch"), *grant("overcommit", "patch", "status")),
)
SCALING_POLICY: Final = KindEntry(
    kind=kinds.SCALING_POLICY,
    short_names=("scp",),
    categories=_CATEGORIES,
    subresources=("scale", *_STATUS),
    columns=(
        Column("Desired", ".spec.replicas", "integer"),
        Column("Replicas", ".status.replicas", "integer"),
        Column("Unmet", ".status.unmet", "integer"),
        AGE,
    ),
    struct=scaling.ScalingPolicy,
    check=check_scaling_policy,
    rank=40,
    grants=(*grant("scaler", "list watch"), *grant("scaler", "patch", "status")),
)
TIDE_NODE_POOL: Final = KindEntry(
    kind=kinds.TIDE_NODE_POOL,
    short_names=("tnp",),
    categories=_CATEGORIES,
    subresources=_STATUS,
    columns=(
        Column("Online", ".spec.nodeConfigs.reserve.online"),
        Column("Offline", ".spec.nodeConfigs.reserve.offline"),
        Column("Tide", ".status.tideNodes.nodes"),
        AGE,
    ),
    struct=tides.TideNodePool,
    check=check_tide_node_pool,
    rank=41,
    admits=True,
    recorded=True,
    kept=KEEP_ALL,
    grants=(*grant("tides", "list watch update"), *grant("tides", "patch", "status")),
)

OURS: Final = (
    POD_GROUP,
    SCHEDULER,
    MOVEMENT,
    RESERVATION,
    QUEUE,
    CUSTOM_NODE_RESOURCE,
    NM_NODE,
    NODE_OVERCOMMIT_CONFIG,
    SCALING_POLICY,
    TIDE_NODE_POOL,
    VERTICAL_POD_AUTOSCALER,
    VERTICAL_CHECKPOINT,
)
"""All entries."""
