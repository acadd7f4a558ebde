"""What a pod's annotations ask of topology and rules, and the micro-topology note on a bound pod.

The keys are Katalyst's (quality of service, memory and CPU enhancement) and Gödel's (aligned
resources, constraints, reservation, micro-topology). Pods of one template repeat them byte for
byte, so they are part of a class: ``placing_notes`` gives the bytes to intern by, and
``read_annotations`` what they mean. What is spelt wrong is an error of that pod alone.
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
"""Annotation: ``dedicated_cores``, ``shared_cores``, ``reclaimed_cores`` or ``system_cores``."""
MEMORY_ENHANCEMENT: Final = "katalyst.kubewharf.io/memory_enhancement"
"""Annotation: JSON with ``numa_binding`` and ``numa_exclusive``."""
CPU_ENHANCEMENT: Final = "katalyst.kubewharf.io/cpu_enhancement"
"""Annotation: JSON with ``align_by_socket``."""
ALIGNED_RESOURCES: Final = "godel.bytedance.com/aligned-resources"
"""Annotation: resources that count when NUMA nodes are, joined by commas; GPUs by default."""
MICRO_TOPOLOGY: Final = "godel.bytedance.com/micro-topology"
"""Annotation written with the bind: ``0:cpu=4,memory=8Gi;1:cpu=4,memory=8Gi``."""
HARD_CONSTRAINTS: Final = "godel.bytedance.com/hard-constraints"
"""Annotation: further filters of this pod, joined by commas."""
SOFT_CONSTRAINTS: Final = "godel.bytedance.com/soft-constraints"
"""Annotation: further scores of this pod, ``name:weight``, joined by commas."""
RESERVATION: Final = "godel.bytedance.com/reservation"
"""Annotation: ``true`` keeps the place of the pod for its successor when it goes."""
RESERVATION_TTL: Final = "godel.bytedance.com/reservation-ttl"
"""Annotation: seconds for which the place is kept."""
RESERVATION_INDEX: Final = "godel.bytedance.com/reservation-index"
"""Annotation: which successor the place is for; the pods of one owner share it without."""
DOMAIN_CAPS: Final = "stretto.dev/domain-caps"
"""Annotation: node label to the largest part (``25%``) or number of the unit's pods a value of it
may hold, such as ``example.com/switch=25%,kubernetes.io/hostname=1``."""

DEDICATED: Final = "dedicated_cores"
RECLAIMED_CORES: Final = "reclaimed_cores"
QOS_LEVELS: Final = (DEDICATED, "shared_cores", RECLAIMED_CORES, "system_cores")
GPU: Final = "nvidia.com/gpu"
DEFAULT_TTL: Final = 60
"""Seconds for which a place is kept where the pod does not say (Gödel's default)."""

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
    """How tightly a pod is held to NUMA nodes."""

    #: Everything from one NUMA node, which others may share.
    ONE = "one"
    #: Whole NUMA nodes, as few sockets as can be, shared with nobody.
    WHOLE = "whole"
    #: Everything from the NUMA nodes of one socket, which others may share.
    SOCKET = "socket"


class NumaRequest(msgspec.Struct, frozen=True, gc=False):
    """What a pod asks of NUMA nodes; the amounts are those of its class."""

    #: How tightly it is held.
    binding: NumaBinding
    #: Resources that count when the number of whole NUMA nodes is worked out.
    aligned: tuple[str, ...] = (GPU,)


class ReservationRequest(msgspec.Struct, frozen=True, gc=False):
    """A place that is kept for a successor."""

    #: Seconds; 0 for a pod that may take a kept place by its index, and keeps none itself.
    ttl: int = DEFAULT_TTL
    #: Which successor; empty for any of the same owner.
    index: str = ""


class DomainCap(msgspec.Struct, frozen=True, gc=False):
    """The largest number of a unit's pods that one value of a node label may hold."""

    #: The label.
    key: str
    #: Hundredths of the unit's size; 0 where a number is given instead.
    percent: int = 0
    #: The number.
    most: int = 0

    def limit(self, size: int) -> int:
        """The number for a unit of so many pods: at least one, a part rounded down."""
        return self.most or max(1, size * self.percent // 100)


class PodAnnotations(msgspec.Struct, frozen=True, gc=False):
    """What the annotations of a class ask for."""

    #: NUMA nodes; ``None`` where the pod leaves that to its node.
    zones: NumaRequest | None = None
    #: Quality of service; empty where it is not said.
    qos: str = ""
    #: Further filters, with the weights they were written with.
    hard: tuple[tuple[str, int], ...] = ()
    #: Further scores with their weights.
    soft: tuple[tuple[str, int], ...] = ()
    #: Whether and how its place is kept when it goes.
    keep: ReservationRequest | None = None
    #: How its unit must be spread.
    caps: tuple[DomainCap, ...] = ()
    #: Which agent of a node starts its pods.
    launcher: str = LAUNCHERS[0]
    #: Whether they take from the pools of nodes instead of from the nodes themselves.
    best_effort: bool = False

    @property
    def keeps(self) -> bool:
        """Whether the place of a pod is kept when it goes."""
        return self.keep is not None and self.keep.ttl > 0

    @property
    def staged(self) -> bool:
        """Whether more than filters and scores says where its pods go."""
        return bool(
            self.zones is not None or self.keep is not None or self.caps or self.hard or self.soft
        )


NO_ANNOTATIONS: Final = PodAnnotations()
"""The asks of most pods: none."""


def has_annotations(annotations: bytes) -> bool:
    """Whether raw annotations may hold a key of ours: a quick look before they are parsed."""
    return any(mark in annotations for mark in _MARKS)


def own_annotations(annotations: bytes) -> bytes:
    """What of raw annotations is ours, to intern by: other tools write times and names there."""
    try:
        return msgspec.json.encode(_PICKED.decode(annotations))
    except (msgspec.DecodeError, RecursionError):
        return annotations


def annotations_of(meta: MetaHead) -> PodAnnotations:
    """What a pod's annotations ask, from its head; errors as ``read_annotations``."""
    if meta.annotations is NO_BYTES or not has_annotations(bytes(meta.annotations)):
        return NO_ANNOTATIONS
    notes = _ANNOTATIONS.decode(meta.annotations) or {}
    return read_annotations(notes, f"pod {meta.namespace}/{meta.name}")


def read_annotations(notes: Mapping[str, str], pod: str) -> PodAnnotations:
    """What a pod's annotations ask; ``pod`` names it in messages.

    Raises:
        InputError: an annotation cannot be read; says which and what was expected.
    """
    if not any(key in notes for key in _KEYS):
        return NO_ANNOTATIONS
    qos = notes.get(QOS_LEVEL, "")
    if qos and qos not in QOS_LEVELS:
        raise InputError(_at(pod, QOS_LEVEL), qos, f"one of {', '.join(QOS_LEVELS)}")
    return PodAnnotations(
        zones=_numa_request(notes, qos, pod),
        qos=qos,
        hard=_constraints(notes.get(HARD_CONSTRAINTS, ""), _at(pod, HARD_CONSTRAINTS)),
        soft=_constraints(notes.get(SOFT_CONSTRAINTS, ""), _at(pod, SOFT_CONSTRAINTS)),
        keep=_keep(notes, pod),
        caps=read_caps(notes.get(DOMAIN_CAPS, ""), _at(pod, DOMAIN_CAPS)),
        launcher=_word(notes, LAUNCHER, LAUNCHERS, pod),
        best_effort=_is_best_effort(notes, qos, pod),
    )


def _at(pod: str, key: str) -> str:
    return f"{pod}, annotation {key}"


def _word(notes: Mapping[str, str], key: str, words: Sequence[str], pod: str) -> str:
    """One of the words that an annotation may be; the first where it is not there."""
    text = notes.get(key, "") or words[0]
    if text not in words:
        raise InputError(_at(pod, key), text, f"one of {', '.join(words)}")
    return text


def _is_best_effort(notes: Mapping[str, str], qos: str, pod: str) -> bool:
    """Gödel's reading: the quality of service says it; where there is none, the resource type."""
    resource_type = _word(notes, RESOURCE_TYPE, RESOURCE_TYPES, pod)
    return qos == RECLAIMED_CORES if qos else resource_type == BEST_EFFORT


def _numa_request(notes: Mapping[str, str], qos: str, pod: str) -> NumaRequest | None:
    """Gödel's reading: binding asks for one NUMA node, exclusive for whole ones."""
    memory = _enhancement(notes, MEMORY_ENHANCEMENT, pod)
    if not _flag(memory, "numa_binding", _at(pod, MEMORY_ENHANCEMENT)):
        return None
    exclusive = _flag(memory, "numa_exclusive", _at(pod, MEMORY_ENHANCEMENT))
    if exclusive and qos != DEDICATED:
        where = f"{_at(pod, MEMORY_ENHANCEMENT)}: numa_exclusive"
        raise InputError(where, "true", f"false, unless {QOS_LEVEL} is {DEDICATED}")
    aligned = tuple(sorted(_names(notes.get(ALIGNED_RESOURCES, GPU))))
    if exclusive:
        return NumaRequest(NumaBinding.WHOLE, aligned)
    cpu = _enhancement(notes, CPU_ENHANCEMENT, pod)
    by_socket = _flag(cpu, "align_by_socket", _at(pod, CPU_ENHANCEMENT))
    return NumaRequest(NumaBinding.SOCKET if by_socket else NumaBinding.ONE, aligned)


def _enhancement(notes: Mapping[str, str], key: str, pod: str) -> Mapping[str, str | bool]:
    text = notes.get(key, "")
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
    """``a:2,b``: names with weights from 1, which is the default; of a name twice, the last."""
    if not text:
        return ()
    found: dict[str, int] = {}
    for part in text.split(","):
        name, colon, weight = (piece.strip() for piece in part.partition(":"))
        if not name or (colon and not (weight.isdecimal() and int(weight) >= 1)):
            raise InputError(where, text, "names with weights from 1 on, such as A:2,B")
        found[name] = int(weight) if colon else 1
    return tuple(found.items())


def _keep(notes: Mapping[str, str], pod: str) -> ReservationRequest | None:
    if notes.get(RESERVATION, "") != "true":
        index = notes.get(RESERVATION_INDEX, "")
        return ReservationRequest(0, index) if index else None
    text = notes.get(RESERVATION_TTL, str(DEFAULT_TTL))
    if not text.isdecimal() or int(text) < 1:
        raise InputError(_at(pod, RESERVATION_TTL), text, "a number of seconds from 1 on")
    return ReservationRequest(int(text), notes.get(RESERVATION_INDEX, ""))


def read_caps(text: str, where: str) -> tuple[DomainCap, ...]:
    """``label=25%,label=3``: caps by node label.

    Raises:
        InputError: a cap cannot be read.
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


# ---------------------------------------------------------------- the note on a bound pod

NumaAmounts = dict[int, dict[str, int]]
"""By NUMA number, amounts by resource name, as the engine counts them."""


def format_micro_topology(allocation: Mapping[int, Mapping[str, int]]) -> str:
    """The note of an allocation, NUMA nodes and resources in order: ``0:cpu=4,memory=8Gi``."""
    return ";".join(
        f"{numa}:" + ",".join(f"{name}={format_amount(name, held[name])}" for name in sorted(held))
        for numa, held in sorted(allocation.items())
    )


@lru_cache(maxsize=10_000)
def micro_topology(
    numbers: tuple[int, ...], parts: tuple[tuple[int, int, int], ...], names: tuple[str, ...]
) -> str:
    """The note of what a pod holds, which the pods of a class mostly have in common.

    Args:
        numbers: numbers of the NUMA nodes of its machine.
        parts: (index of the NUMA node, column, amount) each; what is there no more is left out.
        names: resources by column.
    """
    found = NumaAmounts()
    for z, k, held in parts:
        if z < len(numbers):
            found.setdefault(numbers[z], {})[names[k]] = held
    return format_micro_topology(found)


def read_micro_topology(text: str, pod: str) -> NumaAmounts:
    """The allocation that a note states.

    Raises:
        InputError: the note cannot be read, or names a NUMA node twice.
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
