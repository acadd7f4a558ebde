"""Arrays without reference counts for the duration of one kernel call.

numba counts references whenever an array is read from a tuple or passed to a function. Each count
is an atomic operation of about 4 ns, hundreds of times per pod. The caller of a kernel holds all
arguments until the call returns, so that the kernel need not count references. ``borrowed`` returns
the same arrays without their counter; the compiler then removes the counting.

Never return or store a borrowed array: it does not keep its memory alive.
"""

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic
def borrowed(typing_context: Any, value: Any) -> Any:  # noqa: ARG001
    """Return an array, or a tuple of arrays and numbers at any depth, without reference counts."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _stripped(context, builder, signature.args[0], arguments[0])

    return value(value), generate


def _stripped(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return the machine form of a value without its reference counters."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()  # noqa: SLF001  (numba's own way to read a struct proxy)
    if isinstance(kind, types.BaseTuple):
        inside: Any = kind
        for i, inner in enumerate(inside.types):
            part = _stripped(context, builder, inner, builder.extract_value(value, i))
            value = builder.insert_value(value, part, i)
    return value
