"""Kubernetes' own PodGroup (scheduling.k8s.io, alpha in 1.36): what the scheduler reads of it.

Beside Gödel's PodGroup, which has the same name in another group. A pod names it in
``spec.schedulingGroup``; the door for pods (``heads``) writes that down as Gödel's annotation, with
the API group behind the name, so that the two cannot be mistaken for one another.
"""

from typing import Final

from stretto.api.wire.meta import Condition, ObjectMeta, Wire

MARK: Final = "@scheduling.k8s.io"
"""Behind the name of a group of this kind, wherever groups of both kinds are told apart."""


class GangPolicy(Wire, frozen=True):
    """All or nothing, from a number of pods on."""

    #: As few pods may run; fewer get nothing.
    min_count: int = 1


class BasicPolicy(Wire, frozen=True):
    """Every pod for itself."""


class GroupPolicy(Wire, frozen=True):
    """How the pods of a group are admitted: one of the two."""

    #: One by one.
    basic: BasicPolicy | None = None
    #: Together.
    gang: GangPolicy | None = None


class GroupTopology(Wire, frozen=True):
    """A node label of which all pods of a group get one value."""

    #: The label.
    key: str


class GroupConstraints(Wire, frozen=True):
    """Where a group goes as a whole."""

    #: One domain for all pods.
    topology: tuple[GroupTopology, ...] = ()


class WorkloadPodGroupSpec(Wire, frozen=True):
    """When a group may run, and where."""

    #: How its pods are admitted.
    scheduling_policy: GroupPolicy = GroupPolicy()
    #: Where it goes as a whole.
    scheduling_constraints: GroupConstraints | None = None
    #: The PriorityClass of the group.
    priority_class_name: str = ""


class WorkloadPodGroupStatus(Wire, frozen=True):
    """How a group fares."""

    #: Aspects.
    conditions: tuple[Condition, ...] = ()


class WorkloadPodGroup(Wire, frozen=True):
    """Pods that are admitted as a whole."""

    #: Identity.
    metadata: ObjectMeta
    #: When it may run, and where.
    spec: WorkloadPodGroupSpec = WorkloadPodGroupSpec()
    #: How it fares.
    status: WorkloadPodGroupStatus = WorkloadPodGroupStatus()
