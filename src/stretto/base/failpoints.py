"""Named points at which a fault simulator may stop a component.

A component calls its ``Failpoint`` at each place where a crash leaves an operation half done. In
production the call does nothing. A simulation passes a function that counts the calls and raises
``Crash`` at calls that its seed selects. The simulation then drops the component, and a new one
must recover.
"""

from collections.abc import Callable

Failpoint = Callable[[str], None]
"""Called with the name of the place."""


class Crash(BaseException):
    """A simulated crash; it is not an ``Exception``, so that no handler catches it by accident."""


def no_failpoint(name: str) -> None:
    """The failpoint of production: do nothing."""
