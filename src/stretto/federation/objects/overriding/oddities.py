"""Settings in override policies that have no effect, each with a remedy."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from stretto.api.types.federation.policies import (
    EnvOverrider,
    OverridePolicy,
    OverriderOperator,
    Overriders,
    OverrideRule,
    StringMapOverrider,
    TargetClusters,
)
from stretto.federation.objects.overriding.operations import applies, containers
from stretto.reconcile.cache import Fields, StoredObject

PlacedRules = dict[str, OverrideRule]
"""Rules by their place in a policy, which messages contain."""
_MAPS: Final = ("labels", "annotations")


def placed_rules(policy: StoredObject) -> PlacedRules:
    """The rules of a policy.

    Raises:
        InputError: the policy is malformed.
    """
    place = f"{policy.record.kind.kind} {policy.record.name}: overrideRules"
    rules = policy.read(OverridePolicy).spec.override_rules
    return {f"{place}[{at}]": rule for at, rule in enumerate(rules)}


def without_effect(
    rules: PlacedRules, template: Fields, clusters: Sequence[StoredObject]
) -> Iterator[str]:
    """Messages about settings of rules that have no effect.

    Args:
        rules: the rules of all policies of the object, by their place.
        template: the object.
        clusters: all clusters.
    """
    known = {each.record.name for each in clusters}
    present = {each.get("name") for _, each in containers(template)}
    for place, rule in rules.items():
        target, found = rule.target_clusters, rule.overriders
        if target is not None:
            yield from (f"{place}: {text}" for text in _of_target(target, clusters, known))
        if found == Overriders():
            yield f"{place} has no overriders: add one, or remove the rule"
        if missing := sorted(_containers_of(found) - present):
            text = f"the object has no container {', '.join(missing)}"
            yield f"{place}: {text}: correct the name in the overrider"
        for at, image in enumerate(found.image):
            if not image.operations:
                yield f"{place}: image[{at}] has no operations: add one"
    yield from _of_keys(rules, template)


def _of_target(
    target: TargetClusters, clusters: Sequence[StoredObject], known: set[str]
) -> Iterator[str]:
    """Messages about unknown clusters, or about a target without any cluster."""
    if unknown := sorted(set(target.clusters) - known):
        yield f"targetClusters names unknown clusters: {', '.join(unknown)}: correct or remove them"
    elif not any(applies(target, each) for each in clusters):
        yield "targetClusters matches no cluster: correct it, or label a cluster"


def _containers_of(found: Overriders) -> set[str]:
    """Names of the containers in overriders."""
    named = {each.container_name for each in (*found.command, *found.args)}
    named |= {each.container_name for each in found.envs}
    return named.union(*(each.container_names for each in found.image))


def _of_keys(rules: PlacedRules, template: Fields) -> Iterator[str]:
    """Keys that overriders replace and that neither the object nor an earlier overrider has."""
    metadata = template.get("metadata") or {}
    known = {field: set[str](metadata.get(field) or ()) for field in _MAPS}
    variables = {
        str(each.get("name")): {str(x.get("name")) for x in each.get("env") or ()}
        for _, each in containers(template)
    }
    for place, rule in rules.items():
        found = rule.overriders
        for at, env in enumerate(found.envs):
            names = variables.get(env.container_name)
            if names is not None:
                given = [each.name for each in env.value]
                yield from _absent(f"{place}: envs[{at}]", env, given, names)
        for field in _MAPS:
            for at, each in enumerate(getattr(found, field)):
                yield from _absent(f"{place}: {field}[{at}]", each, each.value, known[field])


def _absent(
    place: str, overrider: EnvOverrider | StringMapOverrider, given: Iterable[str], names: set[str]
) -> Iterator[str]:
    """Keys that an overrider replaces although they are absent; ``names`` receives added keys."""
    absent = sorted(set(given) - names)
    if overrider.operator is OverriderOperator.ADD_IF_ABSENT:
        names.update(absent)
    elif absent and overrider.operator is OverriderOperator.OVERWRITE:
        yield f"{place} replaces {', '.join(absent)}, which the object lacks: use addIfAbsent"
