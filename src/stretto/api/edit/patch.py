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


def merge_patch(target: Any, patch: Any, *, prunes_lists: bool = False) -> Any:
    """Apply RFC 7386: members of ``patch`` replace those of ``target``; null removes a member.

    Args:
        target: the value to change; it stays as it is.
        patch: the patch.
        prunes_lists: whether objects in new lists lose their null members, as in kube-apiserver's
            library; a list in the place of an object keeps them.
    """
    if not isinstance(patch, dict):
        is_pruned = prunes_lists and not isinstance(target, dict)
        return _without_nulls(patch) if is_pruned else patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value, prunes_lists=prunes_lists)
    return merged


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value
