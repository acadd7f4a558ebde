"""Priority bands of pods, after Koordinator's ``apis/extension``."""

from enum import Enum


class Band(Enum):
    """Priority band; the values are the labels of Koordinator."""

    #: Online services.
    PROD = "koord-prod"
    #: Long-running work on capacity that online services will not need soon.
    MID = "koord-mid"
    #: Batch work on capacity that online services do not use now.
    BATCH = "koord-batch"
    #: Work without any guarantee.
    FREE = "koord-free"
    #: Unknown band.
    NONE = ""
