"""What of an override policy has no effect on an object, each with what to do."""

from collections.abc import Collection, Iterable, Iterator

from stretto.api.types.federation.policies import OverrideRule
from stretto.federation.objects.overriding import containers
from stretto.reconcile.cache import Fields


def without_effect(
    rules: Iterable[OverrideRule], template: Fields, clusters: Collection[str]
) -> Iterator[str]:
    """Names in rules that lead nowhere.

    Args:
        rules: the rules of all policies of the object.
        template: the object.
        clusters: names of all clusters.
    """
    targets, names = set[str](), set[str]()
    for rule in rules:
        found = rule.overriders
        targets.update(rule.target_clusters.clusters if rule.target_clusters is not None else ())
        names.update(name for each in found.image for name in each.container_names)
        names.update(each.container_name for each in (*found.command, *found.args))
        names.update(each.container_name for each in found.envs)
    if unknown := sorted(targets - set(clusters)):
        yield f"targetClusters names unknown clusters: {', '.join(unknown)}: correct or remove them"
    present = {each.get("name") for _, each in containers(template)}
    if missing := sorted(names - present):
        yield f"the object has no container {', '.join(missing)}: correct the name in the overrider"
