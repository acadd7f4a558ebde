"""Profiles of the capacity models: the system whose arithmetic a model follows."""

from enum import Enum


class CapacityProfile(Enum):
    """The system whose results a model reproduces, quirks included."""

    #: The formulas without the defects of the systems that they come from.
    STRETTO = "stretto"
    #: Katalyst.
    KATALYST = "katalyst"
    #: Koordinator.
    KOORDINATOR = "koordinator"
    #: Volcano.
    VOLCANO = "volcano"
    #: The Vertical Pod Autoscaler.
    VPA = "vpa"
    #: The Horizontal Pod Autoscaler.
    HPA = "hpa"
