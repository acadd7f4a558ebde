"""The media types of patches, and the merge patch."""

from enum import StrEnum
from typing import Any


class PatchType(StrEnum):
    """The media types of patches."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    #: The fields of one manager, as YAML or JSON.
    APPLY = "application/apply-patch+yaml"


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply RFC 7386: members of ``patch`` replace those of ``target``; null removes a member."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
