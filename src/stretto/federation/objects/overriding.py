"""From override policies to the operations of one cluster.

Each overrider reads the object as the operations before it have left it. Those of labels,
annotations, commands, arguments and environments become one operation that replaces the whole map
or list. A container that is absent is skipped.
"""

import copy
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import jsonpointer
import msgspec

from stretto.api.edit.patch import json_patch
from stretto.api.types.federation.policies import (
    EntrypointOverrider,
    EnvOverrider,
    ImageComponent,
    ImageOperation,
    ImageOverrider,
    JSONPatchOverrider,
    OverriderOperator,
    OverrideRule,
    StringMapOverrider,
    TargetClusters,
)
from stretto.base.errors import InputError
from stretto.federation.objects.placements import Patches
from stretto.federation.scheduling.filters import matches
from stretto.federation.scheduling.fleet import MemberCluster
from stretto.federation.scheduling.workload import ClusterTerm
from stretto.reconcile.cache import Fields, StoredObject

_PODS: Final = ("/spec/template/spec", "/spec/jobTemplate/spec/template/spec", "/spec")
"""Places of the pod spec in a workload or a pod."""
_LISTS: Final = ("containers", "initContainers")
_IMAGE: Final = re.compile(
    r"(?:(?P<registry>[^/]*[.:][^/]*|localhost)/)?(?P<repository>[^:@]+)"
    r"(?::(?P<tag>[^@]+))?(?:@(?P<digest>.+))?"
)
_PARTS: Final = {
    ImageComponent.REGISTRY: "registry",
    ImageComponent.REPOSITORY: "repository",
    ImageComponent.TAG: "tag",
    ImageComponent.DIGEST: "digest",
}


def operations(rules: Iterable[OverrideRule], template: Fields, cluster: StoredObject) -> Patches:
    """The operations of some rules for a cluster.

    Raises:
        InputError: an overrider does not apply to the object.
    """
    made: Patches = []
    for rule in rules:
        if _applies(rule.target_clusters, cluster):
            made += _of_rule(rule, template, made)
    json_patch(template, [{"op": "replace", **each} for each in made], "override")
    return made


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
    present = {each.get("name") for _, each in _containers(template)}
    if missing := sorted(names - present):
        yield f"the object has no container {', '.join(missing)}: correct the name in the overrider"


def _applies(target: TargetClusters | None, cluster: StoredObject) -> bool:
    """Whether a rule is meant for a cluster."""
    if target is None:
        return True
    if target.clusters and cluster.record.name not in target.clusters:
        return False
    if not target.cluster_selector.items() <= dict(cluster.labels).items():
        return False
    member = MemberCluster(cluster.record.name, cluster.labels)
    terms = (
        ClusterTerm(each.match_expressions, each.match_fields) for each in target.cluster_affinity
    )
    return not target.cluster_affinity or any(matches(each, member) for each in terms)


def _of_rule(rule: OverrideRule, template: Fields, before: Patches) -> Patches:
    """The operations of one rule, after those of the earlier rules."""
    found, made = rule.overriders, Patches()
    steps: tuple[tuple[Iterable[Any], Callable[[Any, Fields], Patches]], ...] = (
        (found.image, _image),
        (found.command, _entrypoint("command")),
        (found.args, _entrypoint("args")),
        (found.envs, _environment),
        (found.annotations, _string_map("annotations")),
        (found.labels, _string_map("labels")),
    )
    for overriders, apply in steps:
        for each in overriders:
            made += apply(each, _current(template, [*before, *made]))
    last = {each["path"]: each for each in made}  # each operation contains those before it
    return [*last.values(), *[_json_patch(each) for each in found.jsonpatch]]


def _current(template: Fields, patches: Patches) -> Fields:
    """The template with the operations so far; those that do not apply are found later."""
    made = copy.deepcopy(template)
    for each in patches:
        try:
            made = json_patch(made, [{"op": "replace", **each}], "template")
        except InputError:
            continue
    return made


def _replace(path: str, value: Any) -> Fields:
    return {"op": "replace", "path": path, "value": value}


def _json_patch(overrider: JSONPatchOverrider) -> Fields:
    made: Fields = {"path": overrider.path}
    if overrider.operator:
        made = {"op": overrider.operator, **made}
    if isinstance(overrider.value, msgspec.Raw):
        made["value"] = msgspec.json.decode(overrider.value)
    return made


# ---------------------------------------------------------------- containers


def _containers(fields: Fields) -> Iterable[tuple[str, Fields]]:
    """Pointer and content of each container of an object."""
    for place in _PODS:
        spec = jsonpointer.resolve_pointer(fields, place, None)
        if isinstance(spec, dict) and spec.get("containers"):
            for name in _LISTS:
                for index, each in enumerate(spec.get(name) or ()):
                    yield f"{place}/{name}/{index}", each
            return


def _entrypoint(field: str) -> Callable[[EntrypointOverrider, Fields], Patches]:
    """Changes of a list of words of a container."""

    def apply(overrider: EntrypointOverrider, fields: Fields) -> Patches:
        made: Patches = []
        for place, each in _containers(fields):
            if each.get("name") != overrider.container_name:
                continue
            words = list(each.get(field) or ())
            changed = _words(words, overrider)
            if changed or words:
                made.append(_with_list(f"{place}/{field}", field in each, changed))
        return made

    return apply


def _words(words: list[str], overrider: EntrypointOverrider) -> list[str]:
    match overrider.operator:
        case OverriderOperator.APPEND:
            return [*words, *overrider.value]
        case OverriderOperator.DELETE:
            return [word for word in words if word not in overrider.value]
        case _:
            return list(overrider.value)


def _environment(overrider: EnvOverrider, fields: Fields) -> Patches:
    """Changes of the variables of a container."""
    made: Patches = []
    given = {each.name: msgspec.to_builtins(each) for each in overrider.value}
    for place, each in _containers(fields):
        if each.get("name") != overrider.container_name:
            continue
        variables = list(each.get("env") or ())
        known = {variable["name"] for variable in variables}
        match overrider.operator:
            case OverriderOperator.ADD_IF_ABSENT:
                _refuse_known(sorted(known & given.keys()), f"{place}/env")
                changed = [*variables, *given.values()]
            case OverriderOperator.DELETE:
                changed = [each for each in variables if each["name"] not in given]
            case _:
                changed = [given.get(each["name"], each) for each in variables]
        if changed or variables:
            made.append(_with_list(f"{place}/env", "env" in each, changed))
    return made


def _with_list(path: str, present: bool, value: list[Any]) -> Fields:
    """The operation that sets a list."""
    return {"op": "replace" if present else "add", "path": path, "value": value}


def _refuse_known(known: list[str], path: str) -> None:
    if known:
        hint = "overwrite it instead"
        raise InputError(f"override {path}", known[0], "a name that is absent", hint)


# ---------------------------------------------------------------- maps


def _string_map(field: str) -> Callable[[StringMapOverrider, Fields], Patches]:
    """Changes of labels or annotations."""

    def apply(overrider: StringMapOverrider, fields: Fields) -> Patches:
        present: Mapping[str, str] | None = fields["metadata"].get(field)
        values = dict(present or {})
        match overrider.operator:
            case OverriderOperator.ADD_IF_ABSENT:
                _refuse_known(sorted(values.keys() & overrider.value.keys()), f"/metadata/{field}")
                values |= overrider.value
            case OverriderOperator.DELETE:
                values = {key: each for key, each in values.items() if key not in overrider.value}
            case _:
                values |= {k: v for k, v in overrider.value.items() if k in values}
        return [_replace(f"/metadata/{field}", dict(sorted(values.items())))]

    return apply


# ---------------------------------------------------------------- images


def _image(overrider: ImageOverrider, fields: Fields) -> Patches:
    """Changes of images of containers, or at a path."""
    if overrider.image_path:
        found = jsonpointer.resolve_pointer(fields, overrider.image_path, None)
        if not isinstance(found, str):
            expected = "a path to an image of the object"
            raise InputError("imagePath", overrider.image_path, expected)
        return _changed_image(overrider.image_path, found, overrider.operations)
    made: Patches = []
    for place, each in _containers(fields):
        names = overrider.container_names
        if (not names or each.get("name") in names) and each.get("image"):
            made += _changed_image(f"{place}/image", each["image"], overrider.operations)
    return made


def _changed_image(path: str, image: str, changes: Iterable[ImageOperation]) -> Patches:
    """The operation that changes parts of an image."""
    match = _IMAGE.fullmatch(image)
    if match is None:
        raise InputError(path, image, "an image name")
    parts = match.groupdict()
    for change in changes:
        name = _PARTS[change.image_component]
        match change.operator:
            case OverriderOperator.ADD_IF_ABSENT:
                if parts[name]:
                    expected = f"an image without {name}"
                    raise InputError(path, image, expected, "overwrite it instead")
                parts[name] = change.value
            case OverriderOperator.DELETE:
                parts[name] = None
            case _:
                parts[name] = change.value
    made = f"{parts['registry']}/" if parts["registry"] else ""
    made += parts["repository"] or ""
    made += f":{parts['tag']}" if parts["tag"] else ""
    made += f"@{parts['digest']}" if parts["digest"] else ""
    return [_replace(path, made)]
