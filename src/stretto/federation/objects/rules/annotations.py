"""Annotations and labels of one object that have no effect, each with a remedy."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from stretto.api.admission.schema import unknown_fields
from stretto.api.types.federation.policies import DesiredPlacement
from stretto.api.types.federation.steering import AffinityAnnotation, MigrationConfiguration
from stretto.api.types.pod import Toleration
from stretto.api.wire.kinds import DEPLOYMENT
from stretto.base.nearest import nearest
from stretto.federation import names
from stretto.federation.objects.kinds.autoscaling import mode_problem
from stretto.federation.objects.rollouts.rules import RolloutRule
from stretto.federation.objects.rules.checks import of_names, of_placements
from stretto.federation.objects.rules.steering import AdoptionRule, FollowerName, Steering
from stretto.reconcile.cache import Fields, StoredObject

_SHAPES: Final[Mapping[str, Any]] = {
    names.AFFINITY: AffinityAnnotation,
    names.MIGRATION: MigrationConfiguration,
    names.PLACEMENTS: tuple[DesiredPlacement, ...],
    names.TOLERATIONS: tuple[Toleration, ...],
    names.FOLLOWER_LIST: tuple[FollowerName, ...],
    names.ADOPT_FROM: AdoptionRule,
}
"""Types of the annotations that contain JSON."""
_LABELS: Final = names.POLICY_LABELS | {
    names.HPA_MODE, names.CENTRALIZED_HPA, names.MANAGED, names.SOURCE_CLUSTER, names.SERVICE,
    names.CPU_MODEL,
}  # fmt: skip
"""Labels of the federation."""
_ANNOTATIONS: Final = names.FEDERATED_ANNOTATIONS | {names.NO_FEDERATION}
"""Annotations that users write."""
_SYSTEM: Final = {each for each in vars(names).values() if isinstance(each, str)}
"""All names, also those that controllers write."""
_PREFIXES: Final = (names.PREFIX, names.OWN_PREFIX)
_NEAR: Final = 0.75
"""Minimum similarity of a misspelled name to a known one; less similar names are foreign."""


class _Subject(NamedTuple):
    """An object whose annotations are checked."""

    #: Its kind.
    kind: str
    #: Its annotations.
    annotations: Mapping[str, str]
    #: Rules of its policy, with these annotations applied.
    rules: Steering
    #: Names of all clusters.
    clusters: Collection[str]


def oddities(
    federated: StoredObject, rules: Steering, clusters: Iterable[StoredObject]
) -> Iterator[str]:
    """Messages about readable annotations of a federated object that have no effect.

    Args:
        federated: the object.
        rules: its policy with its annotations.
        clusters: all clusters.
    """
    keys = _CHECKS.keys() & federated.annotations.keys() - rules.problems.keys()
    if not keys:
        return
    known = [each.record.name for each in clusters]
    kind = str(federated.spec["template"].get("kind"))
    subject = _Subject(kind, federated.annotations, rules, known)
    for key in sorted(keys):
        for text in (*_unknown_fields(key, subject.annotations[key]), *_CHECKS[key](subject)):
            yield f"annotation {key} {text}"


def misplaced(template: Fields) -> Iterator[str]:
    """Messages about labels and annotations in a template's metadata that have no effect.

    Args:
        template: the object as it is sent to members, without labels and annotations that configure
            the federation.
    """
    metadata = template.get("metadata") or {}
    places = (("label", _LABELS, _ANNOTATIONS), ("annotation", _ANNOTATIONS, _LABELS))
    for place, own, other in places:
        for key in metadata.get(f"{place}s") or ():
            if key.startswith(_PREFIXES) and key not in own:
                yield from _misplaced(key, place, own, other)
    if problem := mode_problem(template):
        yield problem


def _misplaced(key: str, place: str, own: Collection[str], other: Collection[str]) -> Iterator[str]:
    """Message about one name that has no effect, if it has none."""
    if key in other:
        right = "annotations" if place == "label" else "labels"
        yield f"the {place} {key} has no effect: move it to metadata.{right}"
    elif key not in _SYSTEM:
        short = {each.partition("/")[2]: each for each in (*own, *other)}
        near = nearest(key.partition("/")[2], short, 1, cutoff=_NEAR)
        if near:
            yield f"the {place} {key} is unknown; did you mean {short[near[0]]}?"


def _unknown_fields(key: str, text: str) -> Iterator[str]:
    """Fields of an annotation that its type does not have."""
    if key in _SHAPES:
        for each in unknown_fields(_SHAPES[key], msgspec.json.decode(text.encode()), ""):
            yield f"at {each.path.removeprefix('.')}: {each.sentence}"


def _migration(subject: _Subject) -> Iterator[str]:
    text = subject.annotations[names.MIGRATION].encode()
    found = msgspec.json.decode(text, type=MigrationConfiguration)
    bounded = [each.cluster for each in found.replicas_migrations]
    left = [each.cluster for each in found.workload_migrations]
    yield from of_names({*bounded, *left}, subject.clusters)
    yield from of_names(bounded, bounded)
    yield from of_names(left, left)


def _placements(subject: _Subject) -> Iterator[str]:
    rules = subject.rules
    yield from of_placements(rules.placements, subject.clusters, divides=rules.divides)


def _rollout(subject: _Subject) -> Iterator[str]:
    """Messages about stages; the rollout itself reports a malformed rule."""
    if subject.kind != DEPLOYMENT.kind:
        yield f"has no effect on the kind {subject.kind}: only Deployments roll out over clusters"
        return
    try:
        found = msgspec.json.decode(subject.annotations[names.ROLLOUT].encode(), type=RolloutRule)
    except (msgspec.DecodeError, ValueError):
        return
    named = [name for stage in found.stages for name in stage.clusters]
    yield from of_names(dict.fromkeys(named), subject.clusters)
    beyond = [str(each) for each in found.approved if not 0 <= each < len(found.stages)]
    if beyond:
        yield f"approves stages that it does not have: {', '.join(beyond)}: count from 0"


def _adoption(subject: _Subject) -> Iterator[str]:
    text = subject.annotations[names.ADOPT_FROM].encode()
    found = msgspec.json.decode(text, type=AdoptionRule)
    yield from of_names(found.clusters, subject.clusters)
    if found.regexp and not any(re.search(found.regexp, each) for each in subject.clusters):
        yield f"matches no cluster with its regexp {found.regexp}: correct it"
    if names.CONFLICT not in subject.annotations:
        yield f"has no effect alone: add {names.CONFLICT}=adopt"


def _conflict(subject: _Subject) -> Iterator[str]:
    if names.ADOPT_FROM not in subject.annotations:
        yield f"adopts in no cluster: list them in {names.ADOPT_FROM}"


def _nothing(_subject: _Subject) -> Iterable[str]:
    return ()


_CHECKS: Final[Mapping[str, Callable[[_Subject], Iterable[str]]]] = {
    **dict.fromkeys(_SHAPES, _nothing),
    names.MIGRATION: _migration,
    names.PLACEMENTS: _placements,
    names.ROLLOUT: _rollout,
    names.ADOPT_FROM: _adoption,
    names.CONFLICT: _conflict,
}
"""Checks by annotation."""
