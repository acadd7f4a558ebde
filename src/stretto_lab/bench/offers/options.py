"""Options of the bench of a master; light to import for the command line."""

import msgspec


class OfferBenchOptions(msgspec.Struct, frozen=True):
    """Size and length of the load."""

    #: Frameworks, each with an open stream.
    frameworks: int = 1000
    #: Agents, each with an open stream.
    agents: int = 200
    #: Seconds that are measured.
    seconds: float = 20.0
    #: Seconds before, in which everything subscribes and registers.
    warm_up: float = 5.0
    #: True if the master offers exactly as Mesos does.
    mesos: bool = False
