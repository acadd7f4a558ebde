"""Arrays without reference counts, for the time of one kernel call.

numba counts references to an array whenever it is taken out of a tuple or given to a function, with
an atomic operation each time: about 4 ns, some hundreds of times a pod. The caller of a kernel
holds every argument until the call returns, so the kernel need not count references. ``borrowed``
gives the same arrays without their counter; the compiler then drops the counting altogether.

Never return a borrowed array from a kernel, nor keep one: it does not keep its memory alive.
"""

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic
def borrowed(typing_context: Any, value: Any) -> Any:  # noqa: ARG001
    """An array, or a tuple of arrays and numbers at any depth, without reference counts."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _stripped(context, builder, signature.args[0], arguments[0])

    return value(value), generate


def _stripped(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The machine form of a value with every counter taken off."""
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
