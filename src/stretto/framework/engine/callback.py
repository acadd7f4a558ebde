"""The callback through which the compiled kernels evaluate the Python rules of a profile."""

import ctypes
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stretto.base.arrays import distinct
from stretto.framework.compiled.python_calls import SLOT_RULES, RuleCalls
from stretto.framework.contract.rule import View
from stretto.framework.engine.python_rules import PythonRules

_WORD: Final = ctypes.c_int64
_CALLBACK: Final = ctypes.CFUNCTYPE(None, _WORD, _WORD, _WORD)


class RuleCallback:
    """The Python rules of one runtime, as both kernel tiers call them.

    The NumPy tier calls ``slot_values`` and ``domain_values``. The compiled tier calls a C function
    pointer; slots and results pass through shared buffers (``RuleCalls``). The first callback of a
    kernel call makes the arrays that a rule can access read-only, and ``finish`` makes them
    writable again, because a lock per callback costs more than most rules.
    """

    def __init__(self, rules: PythonRules, view: Callable[[], View]) -> None:
        """Wrap the rules of a profile; ``view`` returns the state that they may read."""
        self._rules = rules
        self._view_now = view
        self._view: View | None = None
        self._slots: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._answers: npt.NDArray[np.int16] = np.zeros(0, np.int16)
        self._concerned: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        self._locked: list[npt.NDArray[Any]] | None = None
        self._error: BaseException | None = None
        self._function = _CALLBACK(self._answer)
        self._address = ctypes.cast(self._function, ctypes.c_void_p).value or 0

    @property
    def over_domains(self) -> bool:
        """True if some rule has the scope DOMAIN."""
        return self._rules.over_domains

    def concerns(self, class_ids: npt.NDArray[np.int32]) -> bool:
        """True if a rule applies to one of these classes; a rule over domains applies to all."""
        if self._rules.over_domains:
            return True
        return any(map(self._rules.concerned, distinct(class_ids).tolist()))

    def slot_values(
        self, class_id: int, slots: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.int16]:
        """int16[k]: -1 where a rule with the scope SLOT rejects, otherwise the weighted scores."""
        return self._rules.values(self._view_now(), class_id, slots)

    def domain_values(
        self, class_id: int, slots: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.int16]:
        """int16[k]: the same for rules with the scope DOMAIN; valid for one decision."""
        return self._rules.domain_values(self._view_now(), class_id, slots)

    def compiled(self, class_ids: npt.NDArray[np.int32], size: int) -> RuleCalls:
        """Prepare a kernel call for these classes and ``size`` slots; end it with ``finish``."""
        self._view = self._view_now()
        if len(self._slots) < size:
            self._slots, self._answers = np.zeros(size, np.int32), np.zeros(size, np.int16)
        most = int(class_ids.max(initial=0)) + 1
        if len(self._concerned) < most:
            self._concerned = np.zeros(2 * most, np.uint8)
        for class_id in np.unique(class_ids).tolist():
            self._concerned[class_id] = self._rules.concerned(class_id)
        return RuleCalls(
            self._address, self._concerned, self._slots, self._answers, self._rules.over_domains
        )

    def finish(self) -> None:
        """End a kernel call.

        Raises:
            BaseException: an exception of a rule that its guard does not catch (an interrupt).
        """
        if self._locked is not None:
            self._rules.unlock(self._locked)
            self._locked = None
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _answer(self, class_id: int, count: int, flag: int) -> None:
        """Evaluate the first ``count`` slots of the buffer; called by the kernel."""
        try:
            assert self._view is not None, "the kernel was called without ``compiled``"
            if self._locked is None:
                self._locked = self._rules.lock(self._view)
            judge = self._rules.values if flag == SLOT_RULES else self._rules.domain_values
            self._answers[:count] = judge(self._view, class_id, self._slots[:count])
        except BaseException as error:  # noqa: BLE001  (an exception cannot cross the kernel)
            self._error = self._error or error
            self._answers[:count] = -1
