"""Placement annotations of pods, and the micro-topology annotation of a bound pod.

The keys are Katalyst's (QoS, memory and CPU enhancement) and Gödel's (aligned resources,
constraints, reservation, micro-topology). Pods of one template repeat them byte for byte, so they
are part of a class: ``own_annotations`` returns the bytes that identify them, and
``read_annotations`` parses them. An invalid annotation affects only its own pod.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final

import msgspec

from stretto.api.types.handover_annotations import (
    BEST_EFFORT,
    LAUNCHER,
    LAUNCHERS,
    RESOURCE_TYPE,
    RESOURCE_TYPES,
)
from stretto.api.types.heads import NO_BYTES, MetaHead
from stretto.api.wire.quantity import amount, format_amount
from stretto.base.errors import InputError

QOS_LEVEL: Final = "katalyst.kubewharf.io/qos_level"
"""QoS annotation.

The value is ``dedicated_cores``, ``shared_cores``, ``reclaimed_cores`` or ``system_cores``.
"""
MEMORY_ENHANCEMENT: Final = "katalyst.kubewharf.io/memory_enhancement"
"""Annotation with JSON: ``numa_binding`` and ``numa_exclusive``."""
CPU_ENHANCEMENT: Final = "katalyst.kubewharf.io/cpu_enhancement"
"""Annotation with JSON: ``align_by_socket``."""
ALIGNED_RESOURCES: Final = "godel.bytedance.com/aligned-resources"
"""Annotation with comma-separated resources that determine the number of NUMA nodes.

GPUs by default.
"""
MICRO_TOPOLOGY: Final = "godel.bytedance.com/micro-topology"
"""Annotation written with the bind: ``0:cpu=4,memory=8Gi;1:cpu=4,memory=8Gi``."""
HARD_CONSTRAINTS: Final = "godel.bytedance.com/hard-constraints"
"""Annotation with comma-separated additional filters of this pod."""
SOFT_CONSTRAINTS: Final = "godel.bytedance.com/soft-constraints"
"""Annotation with comma-separated additional scores of this pod, as ``name:weight``."""
RESERVATION: Final = "godel.bytedance.com/reservation"
"""Annotation; ``true`` turns the pod's charge into a reservation when the pod ends."""
RESERVATION_TTL: Final = "godel.bytedance.com/reservation-ttl"
"""Annotation with the time to live of the reservation in seconds."""
RESERVATION_INDEX: Final = "godel.bytedance.com/reservation-index"
"""Annotation with the reservation index of the successor.

Without it, all pods of the owner qualify.
"""
DOMAIN_CAPS: Final = "stretto.dev/domain-caps"
"""Annotation: node label to the largest share (``25%``) or number of the unit's pods on one value
of it, such as ``example.com/switch=25%,kubernetes.io/hostname=1``."""

DEDICATED: Final = "dedicated_cores"
RECLAIMED_CORES: Final = "reclaimed_cores"
SYSTEM_CORES: Final = "system_cores"
QOS_LEVELS: Final = (DEDICATED, "shared_cores", RECLAIMED_CORES, SYSTEM_CORES)
EXCLUSIVE_LEVELS: Final = frozenset({DEDICATED, SYSTEM_CORES})
"""QoS levels whose amounts count once: exclusive cores, and agents of the node."""
GPU: Final = "nvidia.com/gpu"
DEFAULT_TTL: Final = 60
"""Time to live of a reservation without TTL annotation, in seconds (Gödel's default)."""

_KEYS: Final = (
    QOS_LEVEL,
    MEMORY_ENHANCEMENT,
    CPU_ENHANCEMENT,
    ALIGNED_RESOURCES,
    HARD_CONSTRAINTS,
    SOFT_CONSTRAINTS,
    RESERVATION,
    RESERVATION_TTL,
    RESERVATION_INDEX,
    DOMAIN_CAPS,
    LAUNCHER,
    RESOURCE_TYPE,
)
_MARKS: Final = (
    b"katalyst.kubewharf.io/",
    b"-constraints",
    b"aligned-resources",
    b"/reservation",
    b"/domain-caps",
    b"/pod-launcher",
    b"/pod-resource-type",
)
_PICKED: Final = msgspec.json.Decoder(
    msgspec.defstruct(
        "_Picked",
        [(f"note{i}", str | None, None) for i in range(len(_KEYS))],
        rename={f"note{i}": key for i, key in enumerate(_KEYS)},
        omit_defaults=True,
        gc=False,
    )
)
_ANNOTATIONS: Final = msgspec.json.Decoder(dict[str, str] | None)
_ENHANCEMENT: Final = msgspec.json.Decoder(dict[str, str | bool])


class NumaBinding(Enum):
    """Binding of a pod to NUMA nodes."""

    #: All requests from one NUMA node, which other pods may share.
    ONE = "one"
    #: Whole NUMA nodes on as few sockets as possible, not shared.
    WHOLE = "whole"
    #: All requests from the NUMA nodes of one socket, which other pods may share.
    SOCKET = "socket"


class NumaRequest(msgspec.Struct, frozen=True, gc=False):
    """A pod's request for NUMA nodes; its class contains the amounts."""

    #: The binding.
    binding: NumaBinding
    #: Resources that determine the number of whole NUMA nodes.
    aligned: tuple[str, ...] = (GPU,)


class ReservationRequest(msgspec.Struct, frozen=True, gc=False):
    """A request for a reservation."""

    #: Seconds; 0 for a pod that may take a reservation by index but leaves none.
    ttl: int = DEFAULT_TTL
    #: Reservation index of the successor; empty for any pod of the same owner.
    index: str = ""


class DomainCap(msgspec.Struct, frozen=True, gc=False):
    """Maximum number of a unit's pods on one value of a node label."""

    #: Key of the node label.
    key: str
    #: Percentage of the unit's size; 0 if a number is given instead.
    percent: int = 0
    #: Number of pods; used if the percentage is 0.
    most: int = 0

    def limit(self, size: int) -> int:
        """The cap for a unit of this size: at least one, percentages rounded down."""
        return self.most or max(1, size * self.percent // 100)


class PodAnnotations(msgspec.Struct, frozen=True, gc=False):
    """Parsed placement annotations of a class."""

    #: NUMA request; ``None`` if the pod does not need NUMA nodes.
    numa: NumaRequest | None = None
    #: QoS; empty if there is none.
    qos: str = ""
    #: Additional filters, with their weights as written.
    hard: tuple[tuple[str, int], ...] = ()
    #: Additional scores with their weights.
    soft: tuple[tuple[str, int], ...] = ()
    #: Reservation request; ``None`` for none.
    reservation: ReservationRequest | None = None
    #: Domain caps of its unit.
    caps: tuple[DomainCap, ...] = ()
    #: Node agent that starts its pods.
    launcher: str = LAUNCHERS[0]
    #: True if the pods use the pools of nodes instead of the nodes' own amounts.
    best_effort: bool = False

    @property
    def is_exclusive(self) -> bool:
        """True if overcommitted nodes promise its amounts only once."""
        return self.qos in EXCLUSIVE_LEVELS

    @property
    def reserves(self) -> bool:
        """True if a pod leaves a reservation when it ends."""
        return self.reservation is not None and self.reservation.ttl > 0

    @property
    def staged(self) -> bool:
        """True if placement depends on more than filters and scores."""
        return bool(
            self.numa is not None
            or self.reservation is not None
            or self.caps
            or self.hard
            or self.soft
        )


NO_ANNOTATIONS: Final = PodAnnotations()
"""The annotations of most pods: none."""


def has_annotations(annotations: bytes) -> bool:
    """Return whether raw annotations may contain a key of ours: a quick check before parsing."""
    return any(mark in annotations for mark in _MARKS)


def own_annotations(annotations: bytes) -> bytes:
    """Return our own keys of raw annotations as bytes; other tools write times and names there."""
    try:
        return msgspec.json.encode(_PICKED.decode(annotations))
    except (msgspec.DecodeError, RecursionError):
        return annotations


def annotations_of(meta: MetaHead) -> PodAnnotations:
    """A pod's placement annotations from its head; errors as in ``read_annotations``."""
    if meta.annotations is NO_BYTES or not has_annotations(bytes(meta.annotations)):
        return NO_ANNOTATIONS
    annotations = _ANNOTATIONS.decode(meta.annotations) or {}
    return read_annotations(annotations, f"pod {meta.namespace}/{meta.name}")


def read_annotations(annotations: Mapping[str, str], pod: str) -> PodAnnotations:
    """Parse a pod's placement annotations; ``pod`` names it in messages.

    Raises:
        InputError: an annotation is invalid; the message has its key and the expected form.
    """
    if not any(key in annotations for key in _KEYS):
        return NO_ANNOTATIONS
    qos = annotations.get(QOS_LEVEL, "")
    if qos and qos not in QOS_LEVELS:
        raise InputError(_at(pod, QOS_LEVEL), qos, f"one of {', '.join(QOS_LEVELS)}")
    return PodAnnotations(
        numa=_numa_request(annotations, qos, pod),
        qos=qos,
        hard=_constraints(annotations.get(HARD_CONSTRAINTS, ""), _at(pod, HARD_CONSTRAINTS)),
        soft=_constraints(annotations.get(SOFT_CONSTRAINTS, ""), _at(pod, SOFT_CONSTRAINTS)),
        reservation=_reservation_request(annotations, pod),
        caps=read_caps(annotations.get(DOMAIN_CAPS, ""), _at(pod, DOMAIN_CAPS)),
        launcher=_one_of(annotations, LAUNCHER, LAUNCHERS, pod),
        best_effort=_is_best_effort(annotations, qos, pod),
    )


def _at(pod: str, key: str) -> str:
    return f"{pod}, annotation {key}"


def _one_of(annotations: Mapping[str, str], key: str, values: Sequence[str], pod: str) -> str:
    """Value of an annotation, which must be one of ``values``; the first one if it is absent."""
    text = annotations.get(key, "") or values[0]
    if text not in values:
        raise InputError(_at(pod, key), text, f"one of {', '.join(values)}")
    return text


def _is_best_effort(annotations: Mapping[str, str], qos: str, pod: str) -> bool:
    """Gödel's rule: the QoS decides; without QoS, the resource type."""
    resource_type = _one_of(annotations, RESOURCE_TYPE, RESOURCE_TYPES, pod)
    return qos == RECLAIMED_CORES if qos else resource_type == BEST_EFFORT


def _numa_request(annotations: Mapping[str, str], qos: str, pod: str) -> NumaRequest | None:
    """Gödel's rule: ``numa_binding`` requests one NUMA node, ``numa_exclusive`` whole ones."""
    memory = _enhancement(annotations, MEMORY_ENHANCEMENT, pod)
    if not _flag(memory, "numa_binding", _at(pod, MEMORY_ENHANCEMENT)):
        return None
    exclusive = _flag(memory, "numa_exclusive", _at(pod, MEMORY_ENHANCEMENT))
    if exclusive and qos != DEDICATED:
        where = f"{_at(pod, MEMORY_ENHANCEMENT)}: numa_exclusive"
        raise InputError(where, "true", f"false, unless {QOS_LEVEL} is {DEDICATED}")
    aligned = tuple(sorted(_names(annotations.get(ALIGNED_RESOURCES, GPU))))
    if exclusive:
        return NumaRequest(NumaBinding.WHOLE, aligned)
    cpu = _enhancement(annotations, CPU_ENHANCEMENT, pod)
    by_socket = _flag(cpu, "align_by_socket", _at(pod, CPU_ENHANCEMENT))
    return NumaRequest(NumaBinding.SOCKET if by_socket else NumaBinding.ONE, aligned)


def _enhancement(annotations: Mapping[str, str], key: str, pod: str) -> Mapping[str, str | bool]:
    text = annotations.get(key, "")
    if not text:
        return {}
    try:
        return _ENHANCEMENT.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(_at(pod, key), text, 'JSON such as {"numa_binding": "true"}') from error


def _flag(found: Mapping[str, str | bool], name: str, where: str) -> bool:
    value = found.get(name, False)
    if value in (True, "true"):
        return True
    if value in (False, "false", ""):
        return False
    raise InputError(f"{where}: {name}", value, '"true" or "false"')


def _names(text: str) -> list[str]:
    return [name for name in (part.strip() for part in text.split(",")) if name]


def _constraints(text: str, where: str) -> tuple[tuple[str, int], ...]:
    """Parse ``a:2,b``: names with weights from 1; the default weight is 1.

    The last duplicate counts.
    """
    if not text:
        return ()
    found: dict[str, int] = {}
    for part in text.split(","):
        name, colon, weight = (piece.strip() for piece in part.partition(":"))
        if not name or (colon and not (weight.isdecimal() and int(weight) >= 1)):
            raise InputError(where, text, "names with weights from 1 on, such as A:2,B")
        found[name] = int(weight) if colon else 1
    return tuple(found.items())


def _reservation_request(annotations: Mapping[str, str], pod: str) -> ReservationRequest | None:
    if annotations.get(RESERVATION, "") != "true":
        index = annotations.get(RESERVATION_INDEX, "")
        return ReservationRequest(0, index) if index else None
    text = annotations.get(RESERVATION_TTL, str(DEFAULT_TTL))
    if not text.isdecimal() or int(text) < 1:
        raise InputError(_at(pod, RESERVATION_TTL), text, "a number of seconds from 1 on")
    return ReservationRequest(int(text), annotations.get(RESERVATION_INDEX, ""))


def read_caps(text: str, where: str) -> tuple[DomainCap, ...]:
    """Parse ``label=25%,label=3``: caps by node label.

    Raises:
        InputError: a cap is invalid.
    """
    found = []
    for part in _names(text):
        key, equals, limit = part.partition("=")
        digits = limit.removesuffix("%")
        is_part = limit.endswith("%")
        if not (
            key
            and equals
            and digits.isdecimal()
            and 1 <= int(digits) <= (100 if is_part else 1 << 30)
        ):
            raise InputError(where, text, "node labels with parts or numbers, such as switch=25%")
        found.append(
            DomainCap(key, percent=int(digits)) if is_part else DomainCap(key, 0, int(digits))
        )
    return tuple(found)


# ---------------------------------------------------------------- micro-topology

NumaAmounts = dict[int, dict[str, int]]
"""Maps NUMA numbers to amounts by resource name, in engine units."""


def format_micro_topology(allocation: Mapping[int, Mapping[str, int]]) -> str:
    """Format an allocation in NUMA and resource order: ``0:cpu=4,memory=8Gi``."""
    return ";".join(
        f"{numa}:" + ",".join(f"{name}={format_amount(name, held[name])}" for name in sorted(held))
        for numa, held in sorted(allocation.items())
    )


@lru_cache(maxsize=10_000)
def micro_topology(
    numbers: tuple[int, ...], parts: tuple[tuple[int, int, int], ...], names: tuple[str, ...]
) -> str:
    """Format the NUMA nodes and amounts of a pod; cached, because most pods of a class share them.

    Args:
        numbers: numbers of the NUMA nodes of its machine.
        parts: (index of the NUMA node, column, amount); parts of removed NUMA nodes are skipped.
        names: resources by column.
    """
    found = NumaAmounts()
    for z, k, held in parts:
        if z < len(numbers):
            found.setdefault(numbers[z], {})[names[k]] = held
    return format_micro_topology(found)


def read_micro_topology(text: str, pod: str) -> NumaAmounts:
    """Parse a micro-topology annotation.

    Raises:
        InputError: it is unreadable, or names a NUMA node twice.
    """
    where = _at(pod, MICRO_TOPOLOGY)
    expected = "NUMA numbers with amounts, such as 0:cpu=4,memory=8Gi;1:cpu=4"
    found: NumaAmounts = {}
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        numa, colon, listed = part.partition(":")
        if not colon or not numa.isdecimal() or int(numa) in found:
            raise InputError(where, text, expected)
        held = found.setdefault(int(numa), {})
        for item in _names(listed):
            name, equals, quantity = item.partition("=")
            if not equals or not name:
                raise InputError(where, text, expected)
            held[name] = amount(name, quantity, where)
            if held[name] < 0:
                raise InputError(where, text, f"amounts from 0 on, not {name}={quantity}")
    return found
