"""Profiles of the capacity models: the system whose arithmetic a model reproduces."""

from enum import Enum


class CapacityProfile(Enum):
    """The system whose results a model reproduces, including defects."""

    #: The formulas without the defects of their original systems.
    STRETTO = "stretto"
    #: Katalyst.
    KATALYST = "katalyst"
    #: Volcano.
    VOLCANO = "volcano"
