"""Operations of one cluster, computed from override policies.

Each overrider reads the object after all earlier operations. The operations on labels, annotations,
commands, arguments and environments become one operation that replaces the whole map or list; for
an empty list the operation has no value. An absent container is skipped.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from stretto.api.edit.json_patch import value_at
from stretto.api.types.federation.policies import (
    EntrypointOverrider,
    EnvOverrider,
    ImageOverrider,
    JSONPatchOverrider,
    OverriderOperator,
    Overriders,
    OverrideRule,
    StringMapOverrider,
    TargetClusters,
)
from stretto.base.errors import InputError
from stretto.federation.objects.overriding.images import changed_image
from stretto.federation.objects.overriding.patches import patched
from stretto.federation.objects.placements import Patches
from stretto.federation.scheduling.filters import matches
from stretto.federation.scheduling.fleet import MemberCluster
from stretto.federation.scheduling.workload import ClusterTerm
from stretto.reconcile.cache import Fields, StoredObject

_PODS: Final = ("/spec/template/spec", "/spec/jobTemplate/spec/template/spec", "/spec")
"""Paths of the pod spec in a workload or a pod."""
_LISTS: Final = ("containers", "initContainers")
_FINALIZERS: Final = "/metadata/finalizers"
"""Path that depends on the member's object: operations below it are checked in the member only."""


def operations(rules: Iterable[OverrideRule], template: Fields, cluster: StoredObject) -> Patches:
    """The operations of some rules for a cluster.

    Raises:
        InputError: an overrider cannot be applied to the object.
    """
    made: Patches = []
    for rule in rules:
        if applies(rule.target_clusters, cluster):
            made += _of_rule(rule, template, made)
    return made


def applies(target: TargetClusters | None, cluster: StoredObject) -> bool:
    """True if a rule targets a cluster.

    Raises:
        InputError: a term is malformed.
    """
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
    """The operations of one rule, after the operations of the earlier rules.

    Raises:
        InputError: an operation cannot be applied.
    """
    found = rule.overriders
    current = _current(template, before)
    _check_operators(found)
    steps: tuple[tuple[Iterable[Any], Callable[[Any, Fields], Patches]], ...] = (
        (found.image, _image),
        (found.command, _entrypoint("command")),
        (found.args, _entrypoint("args")),
        (found.envs, _environment),
        (found.annotations, _string_map("annotations")),
        (found.labels, _string_map("labels")),
    )
    made = Patches()
    for overriders, apply in steps:
        last: dict[str, Fields] = {}  # each operation includes the earlier ones
        for each in overriders:
            last |= {x["path"]: x for x in apply(each, _current(current, [*last.values()]))}
        made += (last[path] for path in sorted(last))
        current = _current(current, [*last.values()])
    own = [_json_patch(each) for each in found.jsonpatch]
    _current(current, own)
    return [*made, *own]


def _check_operators(found: Overriders) -> None:
    """Refuse operators that a value does not support: lists have no names, maps no order."""
    lists = [each.operator for each in (*found.command, *found.args)]
    if OverriderOperator.ADD_IF_ABSENT in lists:
        raise InputError("override: operator", "addIfAbsent", "append, overwrite or delete")
    named = [change.operator for each in found.image for change in each.operations]
    named += [each.operator for each in (*found.annotations, *found.labels)]
    named += [each.operator for each in found.envs]
    if OverriderOperator.APPEND in named:
        raise InputError("override: operator", "append", "addIfAbsent, overwrite or delete")


def _current(fields: Fields, patches: Patches) -> Fields:
    """An object after some operations.

    Raises:
        InputError: an operation cannot be applied.
    """
    checked = [each for each in patches if not each["path"].startswith(_FINALIZERS)]
    return patched(fields, checked, "override") if checked else fields


def _replace(path: str, value: Any) -> Fields:
    return _operation("replace", path, value)


def _json_patch(overrider: JSONPatchOverrider) -> Fields:
    value = overrider.value
    read = msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else None
    return _operation(overrider.operator, overrider.path, read)


def _operation(verb: str | None, path: str, value: Any) -> Fields:
    """An operation without absent members: API servers drop null, which means the same."""
    given = {"op": verb or None, "path": path, "value": value}
    return {name: each for name, each in given.items() if each is not None}


# ---------------------------------------------------------------- containers


def containers(fields: Fields) -> Iterator[tuple[str, Fields]]:
    """JSON pointer and content of each container of an object."""
    for place in _PODS:
        spec = value_at(fields, place)
        if isinstance(spec, dict) and spec.get("containers"):
            for name in _LISTS:
                for index, each in enumerate(spec.get(name) or ()):
                    yield f"{place}/{name}/{index}", each
            return


def _named(fields: Fields, *names: str) -> Iterator[tuple[str, Fields]]:
    """The containers with the given names; all containers if no name is given.

    Raises:
        InputError: the object has no containers.
    """
    found = list(containers(fields))
    if not found:
        hint = "remove the overrider, or change other fields with jsonpatch"
        raise InputError("override", fields.get("kind"), "a kind with containers", hint)
    yield from ((place, each) for place, each in found if not names or each.get("name") in names)


def _entrypoint(field: str) -> Callable[[EntrypointOverrider, Fields], Patches]:
    """An overrider of the command or the arguments of a container."""

    def apply(overrider: EntrypointOverrider, fields: Fields) -> Patches:
        found = {
            f"{place}/{field}": _words(list(each.get(field) or ()), overrider)
            for place, each in _named(fields, overrider.container_name)
        }
        if found and overrider.operator is OverriderOperator.APPEND and not overrider.value:
            raise InputError(f"override of {field}", None, "words to append")
        return [_replace(path, words or None) for path, words in found.items()]

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
    """Operations on the environment variables of a container."""
    made: Patches = []
    given = {each.name: msgspec.json.decode(msgspec.json.encode(each)) for each in overrider.value}
    for place, each in _named(fields, overrider.container_name):
        variables = list(each.get("env") or ())
        known = {variable["name"] for variable in variables}
        match overrider.operator:
            case OverriderOperator.ADD_IF_ABSENT:
                _refuse_known(known, given, f"{place}/env")
                changed = [*variables, *given.values()]
            case OverriderOperator.DELETE:
                changed = [each for each in variables if each["name"] not in given]
            case _:
                changed = [given.get(each["name"], each) for each in variables]
        made.append(_replace(f"{place}/env", changed or None))
    return made


def _refuse_known(known: Collection[str], given: Mapping[str, Any], path: str) -> None:
    """Refuse to add existing names, or nothing at all."""
    if not given:
        raise InputError(f"override {path}", None, "a name and a value to add")
    twice = sorted(given.keys() & set(known))
    if twice:
        hint = "overwrite it instead"
        raise InputError(f"override {path}", twice[0], "a name that is absent", hint)


# ---------------------------------------------------------------- maps


def _string_map(field: str) -> Callable[[StringMapOverrider, Fields], Patches]:
    """An overrider of labels or annotations."""

    def apply(overrider: StringMapOverrider, fields: Fields) -> Patches:
        present: Mapping[str, str] | None = fields["metadata"].get(field)
        values = dict(present or {})
        match overrider.operator:
            case OverriderOperator.ADD_IF_ABSENT:
                _refuse_known(values, overrider.value, f"/metadata/{field}")
                values |= overrider.value
            case OverriderOperator.DELETE:
                values = {key: each for key, each in values.items() if key not in overrider.value}
            case _:
                values |= {k: v for k, v in overrider.value.items() if k in values}
        return [_replace(f"/metadata/{field}", dict(sorted(values.items())))]

    return apply


# ---------------------------------------------------------------- images


def _image(overrider: ImageOverrider, fields: Fields) -> Patches:
    """Operations on the images of containers, or on the image at a path."""
    if overrider.image_path:
        image = value_at(fields, overrider.image_path)
        if not isinstance(image, str):
            expected = "a path to an image of the object"
            raise InputError("imagePath", overrider.image_path, expected)
        places = {overrider.image_path: image}
    else:
        containers = _named(fields, *overrider.container_names)
        places = {f"{place}/image": str(each.get("image") or "") for place, each in containers}
    return [
        _replace(path, changed_image(path, image, overrider.operations))
        for path, image in places.items()
    ]
