"""Preemption attributes of pods, from annotations and policies.

Nearly all pods have the defaults. A pod's row contains the number of its attributes, 0 for the
defaults; pods with equal attributes share a number. As in Gödel, pods started by the node manager
neither preempt nor are preempted.
"""

from collections.abc import Mapping
from math import inf
from typing import Final

import msgspec

from stretto.api.types.handover_annotations import LAUNCHER, NODE_MANAGER
from stretto.api.types.heads import NO_BYTES, PodHead
from stretto.state.rows.shared_values import SharedValues

CAN_BE_PREEMPTED: Final = "godel.bytedance.com/can-be-preempted"
"""Annotation on a pod or its PriorityClass: ``true`` allows its preemption, ``false`` forbids it.
"""
PREEMPTION_POLICY: Final = "godel.bytedance.com/preemption-policy"
"""Annotation on a pod or its PriorityClass: ``Never`` forbids preempting others."""
PROTECTED_FOR: Final = "godel.bytedance.com/protection-duration-from-preemption"
"""Annotation on a pod or its PriorityClass.

Seconds of protection from preemption after the start.
"""
NEVER: Final = "Never"
"""Policy of pods that never preempt."""

AttributeKey = tuple[bytes, bool, str, bool]
"""Relevant raw annotations, policy, PriorityClass and scheduler.

The policy is true for Never; the scheduler is true for another ``schedulerName``.
"""

DEFAULT_ATTRIBUTES: Final = 0
"""Number of the default attributes."""
_MARKS: Final = (
    *(key.partition("/")[2].encode() for key in (CAN_BE_PREEMPTED, PREEMPTION_POLICY)),
    PROTECTED_FOR.partition("/")[2].encode(),
    NODE_MANAGER.encode(),
)
_TEXTS: Final = msgspec.json.Decoder(dict[str, str] | None)


class PreemptionAttributes(msgspec.Struct, frozen=True):
    """Attributes shared by the pods of one number."""

    #: True if the pod may preempt others.
    preempts: bool = True
    #: Annotation of the pod on being preempted; ``None`` if there is none.
    can_be_preempted: bool | None = None
    #: Seconds after its start in which it is not preempted.
    protected_for: float = 0.0
    #: True if the pod belongs to another scheduler whose pods are not evicted.
    of_other_scheduler: bool = False


class PriorityClassAnnotations(msgspec.Struct, frozen=True):
    """Annotations of a PriorityClass, which apply to the pods that name it."""

    #: True if the pods may preempt others.
    preempts: bool = True
    #: True if the pods may be preempted; ``None`` without an annotation.
    can_be_preempted: bool | None = None
    #: Seconds after their start in which the pods are not preempted.
    protected_for: float = 0.0


_NO_CLASS_ANNOTATIONS: Final = PriorityClassAnnotations()


class PreemptionAttributeTable:
    """Attributes by number, shared and reference-counted."""

    def __init__(self, preemptible: frozenset[str] | None = None) -> None:
        """Start with the default attributes only.

        ``preemptible`` contains the ``schedulerName`` values whose pods may be evicted; ``None``
        allows every pod.
        """
        #: Annotations by PriorityClass; classes without annotations are omitted.
        self.classes: dict[str, PriorityClassAnnotations] = {}
        self._preemptible = preemptible
        #: Number of dropped entries so far; their numbers may have been reused.
        self.forgotten: int = 0
        defaults = PreemptionAttributes()
        self._shared: SharedValues[AttributeKey | None, PreemptionAttributes]
        self._shared = SharedValues(defaults)
        self._shared.add(None, defaults)

    def __len__(self) -> int:
        """Number of numbers ever assigned; some may be free."""
        return len(self._shared.values)

    def __getitem__(self, number: int) -> PreemptionAttributes:
        """The attributes of a number."""
        return self._shared.values[number]

    def number_of(self, head: PodHead) -> int:
        """The number of a pod's attributes; count its use with ``use``."""
        spec, annotations = head.spec, head.metadata.annotations
        refuses = spec.preemption_policy == NEVER
        others = self._preemptible is not None and spec.scheduler_name not in self._preemptible
        if annotations is NO_BYTES and not (refuses or self.classes or others):
            return DEFAULT_ATTRIBUTES
        marked = annotations is not NO_BYTES and any(mark in bytes(annotations) for mark in _MARKS)
        named = spec.priority_class_name if spec.priority_class_name in self.classes else ""
        if not (refuses or marked or named or others):
            return DEFAULT_ATTRIBUTES
        key = (bytes(annotations) if marked else b"", refuses, named, others)
        found = self._shared.find(key)
        return self._shared.add(key, self._make(key)) if found < 0 else found

    def use(self, number: int) -> None:
        """Count a new pod."""
        if number:
            self._shared.use(number)

    def release(self, number: int) -> None:
        """Count a removed pod; unused attributes are dropped."""
        if number and self._shared.release(number):
            self.forgotten += 1

    def _make(self, key: AttributeKey) -> PreemptionAttributes:
        annotations, refuses, named, others = key
        from_class = self.classes.get(named, _NO_CLASS_ANNOTATIONS)
        own = _texts(annotations)
        mark = own.get(CAN_BE_PREEMPTED)
        policy = own.get(PREEMPTION_POLICY)
        may = policy != NEVER if policy else from_class.preempts
        stays = own.get(LAUNCHER) == NODE_MANAGER
        can = _flag(mark) if mark is not None else from_class.can_be_preempted
        return PreemptionAttributes(
            preempts=may and not refuses and not stays,
            can_be_preempted=False if stays else can,
            protected_for=duration_seconds(own[PROTECTED_FOR])
            if PROTECTED_FOR in own
            else from_class.protected_for,
            of_other_scheduler=others,
        )


def priority_class_annotations(
    policy: str | None, annotations: Mapping[str, str]
) -> PriorityClassAnnotations:
    """Parse the preemption annotations of a PriorityClass."""
    mark = annotations.get(CAN_BE_PREEMPTED)
    return PriorityClassAnnotations(
        preempts=NEVER not in (policy, annotations.get(PREEMPTION_POLICY)),
        can_be_preempted=None if mark is None else _flag(mark),
        protected_for=duration_seconds(annotations.get(PROTECTED_FOR, "0")),
    )


def duration_seconds(text: str) -> float:
    """Parse a number of seconds; 0 if it is unreadable."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0 <= value < inf else 0.0


def _flag(text: str) -> bool | None:
    """Parse ``true`` or ``false``; ``None`` for anything else."""
    return {"true": True, "false": False}.get(text.strip().lower())


def _texts(raw: bytes) -> Mapping[str, str]:
    """Decode a raw map of strings; empty if it is unreadable."""
    if not raw:
        return {}
    try:
        return _TEXTS.decode(raw) or {}
    except msgspec.DecodeError:
        return {}
