"""Intended differences of the master from Mesos; docs/parity/mesos-wire.md gives the reasons."""

import re
from typing import Final, NamedTuple


class MesosDeviation(NamedTuple):
    """A rule for fields with intended differences."""

    #: Name, as in the documentation.
    name: str
    #: Pattern of the fields.
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
    """The rule that explains a differing field; ``None`` if there is none."""
    return next((each.name for each in DEVIATIONS if each.fields.match(field)), None)
