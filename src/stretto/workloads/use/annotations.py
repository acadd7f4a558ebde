"""Annotations with the resource use of simulated pods."""

from typing import Final

from stretto.api.wire.quantity import amount
from stretto.base.errors import InputError

USE: Final = "stretto.dev/use"
"""Annotation of a pod: its use, such as ``cpu=300m,memory=64Mi``."""
LOAD: Final = "stretto.dev/load"
"""Annotation of a workload: total use of its ready pods, in the same form."""
RESOURCES: Final = ("cpu", "memory")
"""Resources whose use is simulated."""
_EXPECTED: Final = "cpu=QUANTITY, memory=QUANTITY or both with a comma between them"


def read_use(text: str, where: str) -> dict[str, int]:
    """Parse the amounts of an annotation: CPU in milli-CPU, memory in bytes.

    Raises:
        InputError: the annotation is malformed.
    """
    found: dict[str, int] = {}
    for part in text.split(","):
        name, sign, quantity = (each.strip() for each in part.partition("="))
        if not sign or name not in RESOURCES or name in found:
            raise InputError(where, text, _EXPECTED)
        found[name] = amount(name, quantity, where)
        if found[name] < 0:
            raise InputError(where, text, f"{_EXPECTED}, none negative")
    return found
