"""The ``hosts`` settings of a profile: hosts per claim, and the lifetime of claims of gangs.

    stretto:
      conflicts: hosts
      hosts: {candidates: dynamic, gangSeconds: 10}

Source of the protocol: HULK (Meituan, 2018), whose number of hosts depends on the load. Its formula
is not published; the one here is ours.
"""

from typing import Any, Final, NamedTuple

from stretto.base.errors import InputError
from stretto.framework.contract import arguments as read

DYNAMIC: Final = "dynamic"
"""Value for which the number of hosts follows the decisions in flight."""
MOST: Final = 16
"""Maximum number of hosts of a claim: beyond it, a fresh view costs less than a bad host."""
GANG_SECONDS: Final = 10.0
"""Default seconds for which a host keeps an undecided claim of a gang.

Answers need milliseconds.
"""
LONGEST: Final = 600.0
"""Longest such time in seconds."""


class HostRules(NamedTuple):
    """Settings of the hosts of claims."""

    #: Number of hosts of a claim; ``None`` to derive it from the decisions in flight.
    candidates: int | None = None
    #: Seconds for which a host keeps an undecided claim of a gang.
    gang_seconds: float = GANG_SECONDS

    def count(self, in_flight: int) -> int:
        """Number of hosts of a claim while other loops are placing ``in_flight`` pods.

        The result is ``1 + floor(log2(1 + in_flight))``, at most 16. If each host is full with the
        same probability p, all n hosts refuse with probability p to the power of n. Therefore n
        must only grow with the logarithm of the load to keep that probability.
        """
        if self.candidates is not None:
            return self.candidates
        return min((1 + max(in_flight, 0)).bit_length(), MOST)


def read_hosts(value: Any, where: str) -> HostRules:
    """Read the rules of hosts.

    Raises:
        InputError: a value has the wrong form; the message contains its path.
        UnknownNameError: a key is unknown; the message contains the nearest one.
    """
    form = read.mapping(value, ("candidates", "gangSeconds"), where)
    candidates = form.get("candidates", DYNAMIC)
    path = f"{where}.candidates"
    if isinstance(candidates, str) and candidates != DYNAMIC:
        raise InputError(path, candidates, f"{DYNAMIC} or a number of hosts from 1 to {MOST}")
    return HostRules(
        None if candidates == DYNAMIC else read.whole(candidates, 1, MOST, path),
        read.number(form.get("gangSeconds", GANG_SECONDS), 0.1, LONGEST, f"{where}.gangSeconds"),
    )
