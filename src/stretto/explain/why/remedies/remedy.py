"""A cure as a value: the change in exact units, so that a program can apply it."""

from enum import Enum

import msgspec


class CureKind(Enum):
    """The change that a cure makes. A code never changes its meaning."""

    #: ``amounts`` become free on their nodes, or the nodes grow by them.
    CAPACITY = "capacity"
    #: The pod requests ``amount`` of ``resource`` instead, or ``amount`` percent of everything.
    SMALLER = "smaller"
    #: The pod also allows the device models ``models``.
    MODELS = "models"
    #: The pod tolerates ``taints``, or ``taints`` are removed from ``node``.
    TOLERATION = "toleration"
    #: The node selector and the required node affinity of the pod are removed.
    SELECTOR = "selector"
    #: ``node`` is uncordoned.
    UNCORDON = "uncordon"
    #: The profile does not apply the rule about node objects that refuses ``node``.
    RULE = "rule"
    #: ``pods`` are removed.
    PODS = "pods"
    #: The spread constraint with ``key`` sets ``nodeTaintsPolicy: Honor``.
    TAINTS_POLICY = "taints-policy"
    #: The spread constraint with ``key`` sets ``whenUnsatisfiable: ScheduleAnyway``.
    SPREAD = "spread"
    #: The scheduling gates of the pod are removed; for a gang, those of ``pods``.
    GATES = "gates"
    #: ``minMember`` of the PodGroup becomes ``amount``.
    MIN_MEMBER = "min-member"
    #: ``amount`` more pods of the gang are created.
    MEMBERS = "members"
    #: The PodGroup is created, named correctly or created again.
    GROUP = "group"
    #: The limit of ``queue`` for ``resource`` becomes ``amount``; without ``resource``, the limit
    #: of running units.
    LIMIT = "limit"
    #: Nothing needs to change: the pod is retried at these events.
    EVENT = "event"


class NodeAmount(msgspec.Struct, frozen=True):
    """An amount of one resource on one node."""

    #: The node.
    node: str
    #: The resource.
    resource: str
    #: Exact amount.
    amount: int


class Remedy(msgspec.Struct, frozen=True):
    """One change that would place the pod, or the whole gang of a pod in a gang."""

    #: Kind of the change.
    kind: CureKind
    #: Sentence for people: the change to make, or the event to wait for.
    sentence: str
    #: Node concerned; empty for none.
    node: str = ""
    #: Resource concerned; empty for none.
    resource: str = ""
    #: Exact amount to free or to request instead.
    amount: int = 0
    #: Amounts to free, node by node.
    amounts: tuple[NodeAmount, ...] = ()
    #: Device models to allow.
    models: tuple[str, ...] = ()
    #: Taints, as ``key=value:effect``.
    taints: tuple[str, ...] = ()
    #: Pods to remove, or whose gates to remove, as ``namespace/name``.
    pods: tuple[str, ...] = ()
    #: Topology key of the rule concerned; empty for none.
    key: str = ""
    #: Queue concerned; empty for none.
    queue: str = ""
    #: True if the cure is enough by itself; other cures are needed together.
    alone: bool = True


def together(cures: tuple[Remedy, ...]) -> tuple[Remedy, ...]:
    """Return the same cures, marked as needed together if there are several."""
    if len(cures) < 2:
        return cures
    return tuple(msgspec.structs.replace(each, alone=False) for each in cures)
