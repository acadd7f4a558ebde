"""Arguments with which the compiled kernels call rules that have only a Python form."""

from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

SLOT_RULES: Final = 1
"""Flag of a class: rules with the scope SLOT apply to it."""
DOMAIN_RULES: Final = 2
"""Flag of a class: rules with the scope DOMAIN apply to it."""


SLOT_SCORES: Final = 4
"""Flag of a class: some of its SLOT rules are scores, so that their result has no tight bound."""
REFUSED: Final = -1
"""Result of the rules if one of them refuses."""


class KeptAnswers(NamedTuple):
    """Results of the Python rules with the scope SLOT, by entry of the class cache.

    A block has 64 slots, so that one word has a bit for each slot. A plain profile reads the words
    of a class instead of a row, which is 16 times as long.
    """

    #: int16[entry, slot]: weighted sums of the scores, for classes with a Python score.
    score: npt.NDArray[np.int16]
    #: uint64[entry, block]: a bit per slot that changed since the last call of the filters; none
    #: for classes with a Python score.
    unknown: npt.NDArray[np.uint64]
    #: uint64[entry, block]: a bit per slot that a rule refuses.
    refused: npt.NDArray[np.uint64]


class RuleCalls(NamedTuple):
    """The callback into Python, and the buffers for slots and results.

    The kernel writes slots to ``slots``, calls ``address`` with (class id, count, flag) and reads
    one result per slot from ``answers``.
    """

    #: Machine address of the callback; 0 if the profile has no Python rule.
    address: int
    #: uint8[class]: ``SLOT_RULES`` and ``DOMAIN_RULES``, for the classes of this call.
    concerned: npt.NDArray[np.uint8]
    #: int32[slot]: slots to score; the kernel uses this buffer in all cases.
    slots: npt.NDArray[np.int32]
    #: int16[slot]: -1 if a rule refuses, else the weighted sum of the scores.
    answers: npt.NDArray[np.int16]
    #: True if the profile has rules with the scope DOMAIN: any pod may fit after others are placed.
    by_domain: bool = False


def no_rule_calls(size: int) -> RuleCalls:
    """Return buffers for a snapshot of ``size`` slots without Python rules."""
    return RuleCalls(
        address=0,
        concerned=np.zeros(0, np.uint8),
        slots=np.zeros(size, np.int32),
        answers=np.zeros(0, np.int16),
    )


class PythonRuleCalls(Protocol):
    """The Python rules of a profile, with the interface for both kernel tiers."""

    @property
    def over_domains(self) -> bool:
        """True if a rule has the scope DOMAIN."""
        ...

    def slot_values(
        self, class_id: int, slots: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.int16]:
        """Return int16[k]: -1 if a rule with the scope SLOT refuses, else the weighted scores."""
        ...

    def domain_values(
        self, class_id: int, slots: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.int16]:
        """Return int16[k] of the rules with the scope DOMAIN; valid for one decision."""
        ...

    def compiled(self, class_ids: npt.NDArray[np.int32], size: int) -> RuleCalls:
        """Return the arguments of a kernel call for these classes and ``size`` slots.

        End with ``finish``.
        """
        ...

    def finish(self) -> None:
        """End a kernel call."""
        ...
