"""The ``hosts`` settings of a profile: how many hosts a claim tries, how long claims of gangs live.

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
"""The number of hosts follows the decisions in flight."""
MOST: Final = 16
"""Most hosts of a claim: beyond it a fresh view costs less than the distance from the best host."""
GANG_SECONDS: Final = 10.0
"""Seconds that a host holds an undecided claim of a gang; answers take milliseconds."""
LONGEST: Final = 600.0
"""Longest such time in seconds."""


class HostRules(NamedTuple):
    """How claims try hosts."""

    #: Hosts of a claim; ``None`` for as many as the decisions in flight suggest.
    candidates: int | None = None
    #: Seconds that a host holds an undecided claim of a gang.
    gang_seconds: float = GANG_SECONDS

    def count(self, in_flight: int) -> int:
        """Hosts of a claim while others decide about so many pods.

        ``1 + floor(log2(1 + in_flight))``, at most 16. If each host is taken with the same
        probability p, all n refuse with probability p to the power of n, so n need only grow with
        the logarithm of the load to keep that probability.
        """
        if self.candidates is not None:
            return self.candidates
        return min((1 + max(in_flight, 0)).bit_length(), MOST)


def read_hosts(value: Any, where: str) -> HostRules:
    """The rules of hosts.

    Raises:
        InputError: something has the wrong form; the path says where.
        UnknownNameError: a key is not known; the nearest is named.
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
