"""Traits of pods that only preemption asks for: what notes and policies say of it.

Nearly all pods have none, so a pod's row holds the number of its traits, 0 for nothing to know, and
pods that say the same share a number. What Gödel's node manager starts neither preempts nor is
preempted, as there.
"""

from collections.abc import Mapping
from math import inf
from typing import Final

import msgspec

from stretto.api.types.handover_annotations import LAUNCHER, NODE_MANAGER
from stretto.api.types.heads import NO_BYTES, PodHead

CAN_BE_PREEMPTED: Final = "godel.bytedance.com/can-be-preempted"
"""Annotation on a pod or its PriorityClass: ``true`` lets it be preempted, ``false`` forbids it."""
PREEMPTION_POLICY: Final = "godel.bytedance.com/preemption-policy"
"""Annotation on a pod or its PriorityClass: ``Never`` forbids it to preempt others."""
PROTECTED_FOR: Final = "godel.bytedance.com/protection-duration-from-preemption"
"""Annotation on a pod or its PriorityClass: seconds after its start in which it stays."""
NEVER: Final = "Never"
"""The policy of pods that preempt nobody."""

AttributeKey = tuple[bytes, bool, str, bool]
"""Notes as they came where they matter, whether its policy is Never, its PriorityClass, and whether
it asks for another scheduler."""

DEFAULT_ATTRIBUTES: Final = 0
"""Number of the traits of a pod about which there is nothing to know."""
_MARKS: Final = (
    *(key.partition("/")[2].encode() for key in (CAN_BE_PREEMPTED, PREEMPTION_POLICY)),
    PROTECTED_FOR.partition("/")[2].encode(),
    NODE_MANAGER.encode(),
)
_TEXTS: Final = msgspec.json.Decoder(dict[str, str] | None)


class PreemptionAttributes(msgspec.Struct, frozen=True):
    """What pods of one number have in common."""

    #: Whether it may preempt others.
    preempts: bool = True
    #: What its note says of being preempted; ``None`` where it says nothing.
    can_be_preempted: bool | None = None
    #: Seconds after its start in which it stays.
    protected_for: float = 0.0
    #: Whether it is another scheduler's, and those are spared.
    of_other_scheduler: bool = False


class PriorityClassAnnotations(msgspec.Struct, frozen=True):
    """What a PriorityClass says of the pods that name it, its value aside."""

    #: Whether they may preempt others.
    preempts: bool = True
    #: Whether they may be preempted; ``None`` where it says nothing.
    can_be_preempted: bool | None = None
    #: Seconds after their start in which they stay.
    protected_for: float = 0.0


_SILENT: Final = PriorityClassAnnotations()


class PreemptionAttributeTable:
    """Traits by number, shared and counted."""

    def __init__(self) -> None:
        """Nothing but the traits of everybody."""
        #: What PriorityClasses say beside their values; those that say nothing are left out.
        self.classes: dict[str, PriorityClassAnnotations] = {}
        #: Names of schedulers whose pods alone may be asked to leave; ``None`` for everybody's.
        self.ours: frozenset[str] | None = None
        #: How many numbers were given up so far; they may mean others since.
        self.forgotten: int = 0
        self._by_number: list[PreemptionAttributes] = [PreemptionAttributes()]
        self._by_key: dict[AttributeKey, int] = {}
        self._keys: list[AttributeKey | None] = [None]
        self._users: list[int] = [0]
        self._free: list[int] = []

    def __len__(self) -> int:
        """Numbers ever given; some may be free."""
        return len(self._by_number)

    def __getitem__(self, number: int) -> PreemptionAttributes:
        """The traits of a number."""
        return self._by_number[number]

    def number_of(self, head: PodHead) -> int:
        """The number of a pod's traits; count its use with ``use``."""
        spec, notes = head.spec, head.metadata.annotations
        refuses = spec.preemption_policy == NEVER
        others = self.ours is not None and spec.scheduler_name not in self.ours
        if notes is NO_BYTES and not (refuses or self.classes or others):
            return DEFAULT_ATTRIBUTES
        marked = notes is not NO_BYTES and any(mark in bytes(notes) for mark in _MARKS)
        named = spec.priority_class_name if spec.priority_class_name in self.classes else ""
        if not (refuses or marked or named or others):
            return DEFAULT_ATTRIBUTES
        key = (bytes(notes) if marked else b"", refuses, named, others)
        found = self._by_key.get(key)
        return found if found is not None else self._make(key)

    def use(self, number: int) -> None:
        """Count a pod."""
        if number:
            self._users[number] += 1

    def leave(self, number: int) -> None:
        """Count a pod that went; traits without pods are forgotten."""
        if not number:
            return
        self._users[number] -= 1
        key = self._keys[number]
        if self._users[number] == 0 and key is not None:
            del self._by_key[key]
            self._keys[number] = None
            self.forgotten += 1
            self._free.append(number)

    def _make(self, key: AttributeKey) -> int:
        notes, refuses, named, others = key
        said = self.classes.get(named, _SILENT)
        own = _texts(notes)
        mark = own.get(CAN_BE_PREEMPTED)
        policy = own.get(PREEMPTION_POLICY)
        may = policy != NEVER if policy else said.preempts
        stays = own.get(LAUNCHER) == NODE_MANAGER
        can = _flag(mark) if mark is not None else said.can_be_preempted
        made = PreemptionAttributes(
            preempts=may and not refuses and not stays,
            can_be_preempted=False if stays else can,
            protected_for=duration_seconds(own[PROTECTED_FOR])
            if PROTECTED_FOR in own
            else said.protected_for,
            of_other_scheduler=others,
        )
        if self._free:
            number = self._free.pop()
            self._by_number[number], self._keys[number] = made, key
        else:
            number = len(self._by_number)
            self._by_number.append(made)
            self._keys.append(key)
            self._users.append(0)
        self._by_key[key] = number
        return number


def priority_class_annotations(
    policy: str | None, annotations: Mapping[str, str]
) -> PriorityClassAnnotations:
    """What a PriorityClass says of preemption."""
    mark = annotations.get(CAN_BE_PREEMPTED)
    return PriorityClassAnnotations(
        preempts=NEVER not in (policy, annotations.get(PREEMPTION_POLICY)),
        can_be_preempted=None if mark is None else _flag(mark),
        protected_for=duration_seconds(annotations.get(PROTECTED_FOR, "0")),
    )


def duration_seconds(text: str) -> float:
    """A number of seconds as a note says it; 0 where it says nothing that can be read."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0 <= value < inf else 0.0


def _flag(text: str) -> bool | None:
    """``true`` or ``false``; anything else says nothing."""
    return {"true": True, "false": False}.get(text.strip().lower())


def _texts(raw: bytes) -> Mapping[str, str]:
    """A raw map of texts; what cannot be read holds nothing."""
    if not raw:
        return {}
    try:
        return _TEXTS.decode(raw) or {}
    except msgspec.DecodeError:
        return {}
