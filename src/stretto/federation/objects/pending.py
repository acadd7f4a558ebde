"""The annotation with the controllers that have not finished a federated object.

It is a JSON list of groups. The first group works first; members are written when the list is
empty. A controller that changes the object makes all groups after its own pending again.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from stretto.federation import names
from stretto.federation.types import Pipeline

_KEPT: Final = 256
"""Size of the cache of parsed texts."""


def pending(annotations: Mapping[str, str]) -> Pipeline:
    """The pending groups of an annotation; empty if it is absent or malformed."""
    return _groups(annotations.get(names.PENDING) or "[]")


@lru_cache(maxsize=_KEPT)
def _groups(text: str) -> Pipeline:
    """The groups of a text; cached, because controllers read few texts very often."""
    try:
        groups = json.loads(text)
        return tuple(tuple(map(str, group)) for group in groups if group)
    except (TypeError, ValueError):
        return ()


@lru_cache(maxsize=_KEPT)
def written(groups: Pipeline) -> str:
    """The text of the annotation for some groups."""
    return json.dumps([list(group) for group in groups], separators=(",", ":"))


def has_turn(controller: str, annotations: Mapping[str, str]) -> bool:
    """True if a controller may work: it is in the first group, or the list is empty."""
    groups = pending(annotations)
    return not groups or controller in groups[0]


def after(
    controller: str, annotations: Mapping[str, str], pipeline: Pipeline, changed: bool
) -> str:
    """The annotation after a controller has finished.

    Args:
        controller: the controller.
        annotations: annotations of the object before.
        pipeline: all groups of the type.
        changed: true if the controller has changed the object.
    """
    groups = pending(annotations)
    rest = tuple(group for group in _without(controller, groups) if group)
    if not changed:
        return written(rest)
    following = _following(controller, pipeline)
    return written(following or rest)


def _without(controller: str, groups: Pipeline) -> Pipeline:
    """The groups, with the controller removed from the first."""
    if not groups:
        return ()
    first = tuple(each for each in groups[0] if each != controller)
    return (first, *groups[1:])


def _following(controller: str, pipeline: Pipeline) -> Pipeline:
    """The groups after the group of a controller."""
    for index, group in enumerate(pipeline):
        if controller in group:
            return pipeline[index + 1 :]
    return ()
