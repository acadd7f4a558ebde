"""Merge of two sets as structured-merge-diff does it: one step for each item of either list."""


def merged_sets(old: list[str], new: list[str]) -> list[str]:
    """Merge two lists of different texts: ``mergeListItems`` in ``typed/merge.go``."""
    shared = iter([each for each in new if each in old])
    awaited = next(shared, None)
    merged: list[str] = []
    left = right = 0
    while left < len(old) or right < len(new):
        if left < len(old) and right < len(new):
            if old[left] == new[right]:
                merged.append(new[right])
                left, right = left + 1, right + 1
                awaited = next(shared, None)
                continue
            if old[left] in new and awaited is not None and awaited != old[left]:
                left += 1
                continue
        if left < len(old):
            if old[left] not in new:
                merged.append(old[left])
                left += 1
                continue
            left += old[left] in merged
        if right < len(new):
            merged.append(new[right])
            awaited = next(shared, None) if awaited == new[right] else awaited
            right += 1
    return merged
