"""A cure as a value: what to change, in exact units, so that a program can apply it."""

from enum import Enum

import msgspec


class CureKind(Enum):
    """What a cure changes. A code never changes its meaning."""

    #: ``amounts`` become free on their nodes, or the nodes grow by them.
    CAPACITY = "capacity"
    #: The pod requests ``amount`` of ``resource`` instead, or ``amount`` percent of everything.
    SMALLER = "smaller"
    #: The pod also allows the device models ``models``.
    MODELS = "models"
    #: The pod tolerates ``taints``, or ``node`` loses them.
    TOLERATION = "toleration"
    #: The pod states no node selector and no required node affinity.
    SELECTOR = "selector"
    #: ``node`` is uncordoned.
    UNCORDON = "uncordon"
    #: The profile does not apply the rule about node objects that refuses ``node``.
    RULE = "rule"
    #: ``pods`` are removed.
    PODS = "pods"
    #: The spread constraint with ``key`` states ``nodeTaintsPolicy: Honor``.
    TAINTS_POLICY = "taints-policy"
    #: The spread constraint with ``key`` states ``whenUnsatisfiable: ScheduleAnyway``.
    SPREAD = "spread"
    #: The scheduling gates of the pod are removed; for a gang those of ``pods``.
    GATES = "gates"
    #: ``minMember`` of the PodGroup becomes ``amount``.
    MIN_MEMBER = "min-member"
    #: ``amount`` more pods of the gang are created.
    MEMBERS = "members"
    #: The PodGroup is created, named correctly or created again.
    GROUP = "group"
    #: The limit of ``queue`` for ``resource`` becomes ``amount``; without resource, its units.
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

    #: What it changes.
    kind: CureKind
    #: What to do or to wait for, for people.
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
    #: Pods to remove, or to remove gates from, as ``namespace/name``.
    pods: tuple[str, ...] = ()
    #: Topology key of the rule concerned; empty for none.
    key: str = ""
    #: Queue concerned; empty for none.
    queue: str = ""
    #: Whether it is enough by itself; cures that are not are needed together.
    alone: bool = True


def together(cures: tuple[Remedy, ...]) -> tuple[Remedy, ...]:
    """The same cures, marked as needed together if there are several."""
    if len(cures) < 2:
        return cures
    return tuple(msgspec.structs.replace(each, alone=False) for each in cures)
