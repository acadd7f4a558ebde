"""PodGroup of Kubernetes (scheduling.k8s.io, alpha in 1.36): the fields that the scheduler reads.

It has the same name as the PodGroup of Gödel, in another API group. A pod names it in
``spec.schedulingGroup``; ``heads`` rewrites that as the annotation of Gödel, with the API group
after the name, so that the two kinds cannot be confused.
"""

from typing import Final

from stretto.api.wire.meta import Condition, ObjectMeta, Wire

MARK: Final = "@scheduling.k8s.io"
"""Suffix of the names of groups of this kind, wherever both kinds occur."""


class GangPolicy(Wire, frozen=True):
    """Gang scheduling from a number of pods on."""

    #: Least number of pods that run together; fewer are not placed.
    min_count: int = 1


class BasicPolicy(Wire, frozen=True):
    """Scheduling of each pod on its own."""


class GroupPolicy(Wire, frozen=True):
    """Scheduling policy of a group: one of the two."""

    #: Each pod on its own.
    basic: BasicPolicy | None = None
    #: All pods together.
    gang: GangPolicy | None = None


class GroupTopology(Wire, frozen=True):
    """A node label with the same value for all pods of a group."""

    #: The label.
    key: str


class GroupConstraints(Wire, frozen=True):
    """Placement constraints of a group."""

    #: Labels with one value for all pods.
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
