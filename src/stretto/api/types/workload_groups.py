"""PodGroups of Kubernetes (scheduling.k8s.io, alpha in 1.36), scheduler-plugins and Volcano.

They have the same name as the PodGroup of Gödel, in other API groups; only the fields that the
scheduler reads are typed. Where several kinds can occur, the name of a group ends with the API
group of its kind, so that the kinds cannot be confused. The group of a pod is in
``spec.schedulingGroup`` (Kubernetes), or in a label or annotation.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from stretto.api.wire.kinds import PLUGINS_POD_GROUP, VOLCANO_POD_GROUP, Kind
from stretto.api.wire.meta import Condition, ObjectMeta, Wire

MARK: Final = "@scheduling.k8s.io"
"""Suffix of the names of groups of this kind, where several kinds can occur."""


class PodGroupForm(NamedTuple):
    """Representation of another scheduler's PodGroup in pods."""

    #: Suffix of the names of its groups, where several kinds can occur.
    mark: str
    #: Labels or annotations of a pod that contain the name of its group.
    keys: tuple[str, ...]


FORMS: Final[Mapping[Kind, PodGroupForm]] = {
    PLUGINS_POD_GROUP: PodGroupForm(
        f"@{PLUGINS_POD_GROUP.group}",
        (
            "scheduling.x-k8s.io/pod-group",
            "pod-group.scheduling.sigs.k8s.io",
            "pod-group.scheduling.sigs.k8s.io/name",
        ),
    ),
    VOLCANO_POD_GROUP: PodGroupForm(
        f"@{VOLCANO_POD_GROUP.group}",
        ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"),
    ),
}
"""PodGroups of other schedulers, which are read if the API server serves them."""


class ForeignPodGroupSpec(Wire, frozen=True):
    """Desired state of a PodGroup of scheduler-plugins or Volcano; the raw fields are not read."""

    #: Minimum number of pods that run together.
    min_member: int = 1
    #: Seconds to wait for the pods (scheduler-plugins); absent for no limit.
    schedule_timeout_seconds: int | None = None
    #: The PriorityClass of the group (Volcano).
    priority_class_name: str = ""
    #: Minimum amounts of the whole group.
    min_resources: dict[str, Any] = msgspec.field(default_factory=dict)
    #: Queue of Volcano.
    queue: str = ""
    #: Minimum number of pods of each task (Volcano).
    min_task_member: dict[str, Any] = msgspec.field(default_factory=dict)
    #: Network topology (Volcano).
    network_topology: dict[str, Any] = msgspec.field(default_factory=dict)
    #: Sub-groups (Volcano).
    sub_group_policy: list[Any] = msgspec.field(default_factory=list)


class ForeignPodGroupStatus(Wire, frozen=True):
    """Observed state of a PodGroup of scheduler-plugins or Volcano."""

    #: The phase.
    phase: str = ""


class PluginsPodGroup(Wire, frozen=True):
    """A PodGroup of scheduler-plugins."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired state.
    spec: ForeignPodGroupSpec = ForeignPodGroupSpec()
    #: Observed state.
    status: ForeignPodGroupStatus = ForeignPodGroupStatus()


class VolcanoPodGroup(Wire, frozen=True):
    """A PodGroup of Volcano."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired state.
    spec: ForeignPodGroupSpec = ForeignPodGroupSpec()
    #: Observed state.
    status: ForeignPodGroupStatus = ForeignPodGroupStatus()


class GangPolicy(Wire, frozen=True):
    """Gang scheduling with a minimum number of pods."""

    #: Minimum number of pods that run together; fewer pods are not placed.
    min_count: int = 1


class BasicPolicy(Wire, frozen=True):
    """Individual scheduling of each pod."""


class GroupPolicy(Wire, frozen=True):
    """Scheduling policy of a group; one of the two fields is set."""

    #: Individual scheduling of each pod.
    basic: BasicPolicy | None = None
    #: Scheduling of all pods together.
    gang: GangPolicy | None = None


class GroupTopology(Wire, frozen=True):
    """A node label with the same value for all pods of a group."""

    #: The label.
    key: str


class GroupConstraints(Wire, frozen=True):
    """Placement constraints of a group."""

    #: Labels that have one value for all pods.
    topology: tuple[GroupTopology, ...] = ()


class WorkloadPodGroupSpec(Wire, frozen=True):
    """Desired state of a group."""

    #: Scheduling policy.
    scheduling_policy: GroupPolicy = GroupPolicy()
    #: Placement constraints.
    scheduling_constraints: GroupConstraints | None = None
    #: The PriorityClass of the group.
    priority_class_name: str = ""


class WorkloadPodGroupStatus(Wire, frozen=True):
    """Observed state of a group."""

    #: Conditions.
    conditions: tuple[Condition, ...] = ()


class WorkloadPodGroup(Wire, frozen=True):
    """Pods that are scheduled as a whole."""

    #: Identity.
    metadata: ObjectMeta
    #: Desired state.
    spec: WorkloadPodGroupSpec = WorkloadPodGroupSpec()
    #: Observed state.
    status: WorkloadPodGroupStatus = WorkloadPodGroupStatus()
