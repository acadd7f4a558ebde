"""Where the master differs from Mesos on purpose; docs/parity/mesos-wire.md has the reasons."""

import re
from typing import Final, NamedTuple


class MesosDeviation(NamedTuple):
    """A rule for fields that differ on purpose."""

    #: Name, as in the documentation.
    name: str
    #: Fields that differ by this rule.
    fields: re.Pattern[str]


DEVIATIONS: Final = (
    MesosDeviation(
        "internal-metrics",
        re.compile(
            r"metric (allocator/(mesos/)?event_queue\S*|allocator/mesos/allocation_run\S*"
            r"|master/event_queue\S*|registrar/\S+|system/\S+)"
        ),
    ),
)
"""All rules."""


def deviation_of(field: str) -> str | None:
    """The rule by which a field differs on purpose."""
    return next((each.name for each in DEVIATIONS if each.fields.match(field)), None)
