"""Named points at which a fault simulator may stop a component.

A component calls its ``Failpoint`` at each place where a crash leaves something half done. In
production the call does nothing; a simulation passes a function that counts the visits and, when
its seed says so, raises ``Crash``: the component is then dropped and a new one must recover.
"""

from collections.abc import Callable

Failpoint = Callable[[str], None]
"""Called with the name of the place."""


class Crash(BaseException):
    """A simulated crash; no ``Exception``, so that no handler of ours survives it by accident."""


def no_failpoint(name: str) -> None:
    """Production: nothing happens here."""
