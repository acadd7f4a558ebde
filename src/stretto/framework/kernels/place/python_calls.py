"""Callbacks of compiled kernels into Python: the rules of a plugin author, for a batch of slots.

The callback is a C function pointer of ``ctypes``. It acquires the interpreter lock itself, so that
a kernel can call it without holding the lock.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from stretto.framework.compiled.python_calls import DOMAIN_RULES, SLOT_RULES, SLOT_SCORES

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}


@intrinsic
def _call(typing_context: Any, address: Any, class_id: Any, count: Any, flag: Any) -> Any:  # noqa: ARG001
    """Call the C function ``void (int64, int64, int64)`` at an address."""

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word, word, word])
        function = builder.inttoptr(arguments[0], cgutils.voidptr_t)
        builder.call(builder.bitcast(function, kind.as_pointer()), list(arguments[1:]))
        return context.get_dummy_value()

    word = types.int64
    return types.void(word, word, word, word), generate


@njit(**_FLAGS)
def has_slot_rules(rules, c):
    """Return whether Python rules with the scope SLOT apply to a class."""
    return rules.address != 0 and (rules.concerned[c] & np.uint8(SLOT_RULES)) != 0


@njit(**_FLAGS)
def has_slot_scores(rules, c):
    """Return whether a score among the Python rules with the scope SLOT applies to a class."""
    return (rules.concerned[c] & np.uint8(SLOT_SCORES)) != 0


@njit(**_FLAGS)
def has_domain_rules(rules, c):
    """Return whether Python rules with the scope DOMAIN apply to a class."""
    return rules.address != 0 and (rules.concerned[c] & np.uint8(DOMAIN_RULES)) != 0


@njit(**_FLAGS)
def call_slot_rules(rules, c, count):
    """Call the rules with the scope SLOT for the first ``count`` slots of the buffer."""
    _call(np.int64(rules.address), np.int64(c), np.int64(count), np.int64(SLOT_RULES))


@njit(**_FLAGS)
def call_domain_rules(rules, c, count):
    """Call the rules with the scope DOMAIN for the first ``count`` slots of the buffer."""
    _call(np.int64(rules.address), np.int64(c), np.int64(count), np.int64(DOMAIN_RULES))


@njit(**_FLAGS)
def combined(value, answer):
    """Combine a slot value (0 = infeasible) with the result of Python rules (-1 = refused)."""
    if value <= 0 or answer < 0:
        return np.int32(0)
    return np.int32(max(value + answer, 1))


@njit(**_FLAGS)
def pinned_value(rules, c, s, value):
    """Return the value of the slot to which a pod is pinned, with the result of the SLOT rules."""
    if value > 0 and has_slot_rules(rules, c):
        rules.slots[0] = s
        call_slot_rules(rules, c, 1)
        return combined(np.int32(value), np.int32(rules.answers[0]))
    return np.int32(value)
