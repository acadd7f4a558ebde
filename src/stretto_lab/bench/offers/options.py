"""Options of the bench of a master, in a module that the command line imports fast."""

import msgspec


class OfferBenchOptions(msgspec.Struct, frozen=True):
    """Size and duration of the load."""

    #: Number of frameworks, each with an open stream.
    frameworks: int = 1000
    #: Number of agents, each with an open stream.
    agents: int = 200
    #: Duration of the measurement in seconds.
    seconds: float = 20.0
    #: Seconds before the measurement, in which all clients subscribe and register.
    warm_up: float = 5.0
    #: True if the master makes offers exactly like Mesos.
    mesos: bool = False
