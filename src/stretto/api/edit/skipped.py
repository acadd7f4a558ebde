"""Objects of an input that are not scheduled, counted by kind for one summary line.

A folder of an application contains Secrets, roles, webhooks and custom resources besides its pods.
A plan or a scenario skips them and reports their kinds to the user.
"""

from collections import Counter
from typing import Final

from stretto.api.kinds.entry import ManifestUse
from stretto.api.kinds.table import TABLE
from stretto.api.wire.kinds import PLUGINS_POD_GROUP, VOLCANO_POD_GROUP, Kind

NOT_SCHEDULED: Final = "not scheduled"
"""Reason for skipping kinds of Kubernetes without pods."""
UNKNOWN: Final = "unknown kind: pods that its operator creates are not counted"
"""Reason for skipping objects of an unknown CRD."""
SKIPPED_KINDS: Final = frozenset(
    (entry.kind.group, entry.kind.kind)
    for entry in TABLE.entries()
    if entry.manifests is ManifestUse.SKIPPED
)
"""Groups and kinds of Kubernetes that are not scheduled."""
_REMOVED_GROUPS: Final = frozenset({"extensions"})
"""Removed API groups of Kubernetes; their kinds are in other groups now."""
_REMOVED_KINDS: Final = frozenset({"InitializerConfiguration", "PodPreset", "PodSecurityPolicy"})
"""Removed kinds of Kubernetes without pods."""
_CORE_GROUPS: Final = frozenset({"apps", "autoscaling", "batch", "policy"})
"""API groups of Kubernetes without a dot, besides the core group."""


_OPEN_GROUPS: Final = frozenset({VOLCANO_POD_GROUP.group, PLUGINS_POD_GROUP.group})
"""Groups of other schedulers of which the table contains only the PodGroup."""


class SkippedObjects:
    """The skipped objects of an input, and the files without objects."""

    def __init__(self) -> None:
        #: Number of objects by reason and kind.
        self._objects: dict[str, Counter[str]] = {}
        #: Files by reason.
        self._files: dict[str, list[str]] = {}

    def add(self, kind: Kind, why: str = NOT_SCHEDULED) -> None:
        """Count a skipped object."""
        name = kind.kind if why == NOT_SCHEDULED else f"{kind.kind} of {kind.api_version}"
        self._objects.setdefault(why, Counter())[name] += 1

    def add_file(self, path: str, why: str) -> None:
        """Record a skipped file."""
        self._files.setdefault(why, []).append(path)

    def __bool__(self) -> bool:
        return bool(self._objects or self._files)

    def lines(self) -> list[str]:
        """One sentence per reason, the plain one first; empty if nothing was skipped."""
        found = []
        for why in sorted(self._objects, key=lambda why: (why != NOT_SCHEDULED, why)):
            kinds = (f"{count} {name}" for name, count in self._objects[why].most_common())
            found.append(f"skipped: {', '.join(kinds)} ({why})")
        for why, paths in self._files.items():
            more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
            found.append(f"not read: {', '.join(paths[:3])}{more} ({why})")
        return found


def skip_reason(kind: Kind) -> str:
    """Return the reason for skipping an object; empty if it must be read or refused.

    The version does not matter: a Role of ``v1beta1`` is not scheduled either.
    """
    group, name = kind.group, kind.kind
    if kind in TABLE:
        return NOT_SCHEDULED if TABLE.entry(kind).manifests is ManifestUse.SKIPPED else ""
    if name in _REMOVED_KINDS and (is_known_group(group) or group == "settings.k8s.io"):
        return NOT_SCHEDULED
    uses = {
        entry.manifests
        for entry in TABLE.entries()
        if entry.kind.kind == name and (entry.kind.group == group or group in _REMOVED_GROUPS)
    }
    if uses:
        return NOT_SCHEDULED if uses == {ManifestUse.SKIPPED} else ""
    other_tool = not group and kind.version != "v1"
    return "" if is_known_group(group) and not other_tool else UNKNOWN


def is_known_group(group: str) -> bool:
    """Return whether all kinds of a group are known: those of Kubernetes, Gödel and Stretto."""
    if group in _CORE_GROUPS or group in _REMOVED_GROUPS or not group:
        return True
    if group in _OPEN_GROUPS:
        return False
    return any(entry.kind.group == group for entry in TABLE.entries())
