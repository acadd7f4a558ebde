"""Gangs in the forms of other schedulers, translated to PodGroups of Gödel.

The scheduler reads two forms: Gödel's and that of Kubernetes. This table contains the others, so
that a manifest for another scheduler forms the same gangs. A label or annotation that looks like a
gang and is not in the table is an error: the pods could otherwise start in part.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from stretto.api.codec import parse_object, set_fields
from stretto.api.types.workload_groups import FORMS as POD_GROUP_FORMS
from stretto.api.wire.kinds import PLUGINS_POD_GROUP, POD, POD_GROUP, VOLCANO_POD_GROUP
from stretto.base.errors import InputError
from stretto.inputs.objects.objects import GROUP, pod_group_body
from stretto.inputs.objects.relations import InputObject


class GangForm(msgspec.Struct, frozen=True):
    """Marks with which one scheduler recognizes the pods of a gang."""

    #: The scheduler.
    scheduler: str
    #: Labels or annotations of a pod with the name of its gang.
    names: tuple[str, ...]
    #: Annotations or labels of a pod with the minimum number of pods; empty if an object contains
    #: it.
    least: tuple[str, ...] = ()
    #: Further keys that do not affect gang membership.
    ignored: tuple[str, ...] = ()


_KOORDINATOR: Final = "gang.scheduling.koordinator.sh/"
_TASK_GROUPS: Final = "yunikorn.apache.org/task-groups"

FORMS: Final = (
    GangForm(
        "scheduler-plugins",
        POD_GROUP_FORMS[PLUGINS_POD_GROUP].keys,
        ("pod-group.scheduling.sigs.k8s.io/min-available",),
    ),
    GangForm(
        "Volcano",
        POD_GROUP_FORMS[VOLCANO_POD_GROUP].keys,
        ("volcano.sh/group-min-member", "scheduling.volcano.sh/group-min-member"),
        ("volcano.sh/pod-group-version",),
    ),
    GangForm(
        "Kueue",
        ("kueue.x-k8s.io/pod-group-name",),
        ("kueue.x-k8s.io/pod-group-total-count",),
        (
            "kueue.x-k8s.io/podset-group-name",
            *(
                f"kueue.x-k8s.io/pod-group-{name}"
                for name in ("fast-admission", "serving", "pod-index", "pod-index-label")
            ),
        ),
    ),
    GangForm(
        "Koordinator",
        (f"{_KOORDINATOR}name",),
        (f"{_KOORDINATOR}min-available",),
        tuple(f"{_KOORDINATOR}{name}" for name in ("total-number", "waiting-time", "match-policy")),
    ),
    GangForm(
        "YuniKorn",
        ("yunikorn.apache.org/app-id", "applicationId"),
        (_TASK_GROUPS,),
        ("yunikorn.apache.org/task-group-name", "yunikorn.apache.org/schedulingPolicyParameters"),
    ),
)
"""The forms of other schedulers."""

POD_GROUPS: Final = frozenset(
    (group, "PodGroup")
    for group in (
        "scheduling.x-k8s.io",
        "scheduling.sigs.k8s.io",
        "scheduling.volcano.sh",
        "scheduling.incubator.k8s.io",
    )
)
"""PodGroups of other schedulers; all have ``spec.minMember``."""

_OWN: Final = ("godel.bytedance.com/", "stretto.dev/")
_LOOKS_LIKE: Final = re.compile(
    r"(?:^|[./_-])(?:gang|pod-?groups?|task-?groups?|group-(?:name|min-member))(?:$|[./_-])",
    re.IGNORECASE,
)
_MARKS: Final = (b"gang", b"group")
"""Texts in every mark of a gang, in small letters."""
_STRICT: Final = {f"{_KOORDINATOR}mode": "Strict"}
"""Keys with a single supported value."""


class _Membership(msgspec.Struct, frozen=True):
    """The gang of a pod."""

    #: Its name.
    name: str
    #: The minimum number of pods; 0 if an object contains it.
    least: int


def translate_groups(objects: Sequence[InputObject]) -> list[InputObject]:
    """The objects with foreign PodGroups and gang marks replaced by those of Gödel.

    Raises:
        InputError: a gang mark is not supported, or its PodGroup is not in the input.
    """
    groups = {(each.namespace, each.name): 0 for each in objects if each.kind is POD_GROUP}
    result: list[InputObject] = []
    for each in objects:
        if (each.kind.group, each.kind.kind) in POD_GROUPS:
            groups[each.namespace, each.name] = 0
            result.append(_translated(each))
    made: dict[tuple[str, str], int] = {}
    first: dict[tuple[str, str], InputObject] = {}
    for each in objects:
        if (each.kind.group, each.kind.kind) in POD_GROUPS:
            continue
        member = _membership(each) if each.kind is POD and _may_be_marked(each.body) else None
        if member is None:
            result.append(each)
            continue
        key = (each.namespace, member.name)
        if key not in groups:
            _check_least(each, member, made.setdefault(key, member.least))
            first.setdefault(key, each)
        result.append(_joined(each, member.name))
    added = [
        InputObject(POD_GROUP, space, name, pod_group_body(name, least, space), first[key].where)
        for key, least in made.items()
        for space, name in [key]
    ]
    return [*reversed(added), *result]


def _may_be_marked(body: bytes) -> bool:
    """True if an object has a text that a mark of a gang has; a search by pattern is slower."""
    text = body.lower()
    return any(each in text for each in _MARKS)


def _check_least(item: InputObject, member: _Membership, known: int) -> None:
    """Refuse a gang without a size, and pods of one gang with different sizes."""
    if not member.least:
        hint = "add the PodGroup, or remove the mark of the gang"
        where = f"{item.title}: its gang {member.name}"
        raise InputError(where, None, "the PodGroup in the input", hint)
    if known != member.least:
        where = f"{item.title}: the size of its gang {member.name}"
        raise InputError(where, member.least, f"{known}, as in another pod of the gang")


def _translated(item: InputObject) -> InputObject:
    """A foreign PodGroup, converted to a PodGroup of Gödel."""
    spec = parse_object(item.body, item.title).get("spec") or {}
    least = spec.get("minMember", 1) if isinstance(spec, dict) else spec
    if isinstance(least, bool) or not isinstance(least, int) or least < 1:
        raise InputError(f"{item.title}: spec.minMember", least, "a number of 1 or more")
    timeout = spec.get("scheduleTimeoutSeconds")
    more = {"scheduleTimeoutSeconds": timeout} if isinstance(timeout, int) and timeout > 0 else {}
    body = pod_group_body(item.name, least, item.namespace, more)
    return InputObject(POD_GROUP, item.namespace, item.name, body, item.where)


def _joined(item: InputObject, name: str) -> InputObject:
    """A pod with the gang mark of Gödel."""
    fields: Mapping[Any, Any] = {
        ("metadata", "annotations", GROUP): name,
        ("metadata", "labels", GROUP): name,
    }
    return msgspec.structs.replace(item, body=set_fields(item.body, fields))


def _membership(item: InputObject) -> _Membership | None:
    """The gang of a pod in a foreign form; ``None`` if there is none.

    Raises:
        InputError: a mark is not supported, or the pod has the marks of two schedulers.
    """
    meta = item.meta()
    notes = {**meta.labels, **meta.annotations}
    forms = [form for form in FORMS if _uses(form, notes)]
    _check_marks(item, notes)
    if not forms or GROUP in notes:
        return None
    if len(forms) > 1:
        found = " and ".join(form.scheduler for form in forms)
        raise InputError(f"{item.title}: metadata", found, "the gang marks of one scheduler")
    form = forms[0]
    name = next((notes[key] for key in form.names if notes.get(key)), "")
    if not name:
        where = f"{item.title}: metadata"
        raise InputError(where, None, f"the name of its gang in {' or '.join(form.names)}")
    least = next((key for key in form.least if key in notes), "")
    return _Membership(name, _least(item, least, notes[least]) if least else 0)


def _uses(form: GangForm, notes: Mapping[str, str]) -> bool:
    """True if a pod is in a gang of a form. An application of YuniKorn alone is not a gang."""
    keys = form.least if form.scheduler == "YuniKorn" else (*form.names, *form.least)
    return any(key in notes for key in keys)


def _least(item: InputObject, key: str, text: str) -> int:
    """The minimum number of pods in a mark."""
    if key == _TASK_GROUPS:
        return sum(_task_groups(item, text).values())
    if not text.isdigit() or int(text) < 1:
        raise InputError(f"{item.title}: {key}", text, "a number of 1 or more")
    return int(text)


def _task_groups(item: InputObject, text: str) -> Counter[str]:
    """The minimum number of pods of each task group of YuniKorn."""
    found: Counter[str] = Counter()
    try:
        groups = msgspec.json.decode(text)
        for each in groups:
            found[str(each["name"])] += int(each["minMember"])
    except (msgspec.DecodeError, TypeError, KeyError, ValueError) as error:
        expected = "a JSON list of task groups with name and minMember"
        raise InputError(f"{item.title}: {_TASK_GROUPS}", text, expected) from error
    return found


def _check_marks(item: InputObject, notes: Mapping[str, str]) -> None:
    """Refuse marks that look like a gang and are not in the table."""
    for key, value in notes.items():
        if key.startswith(_OWN) or key in _KNOWN:
            continue
        if key in _STRICT and value == _STRICT[key]:
            continue
        if key in _STRICT or _LOOKS_LIKE.search(key):
            hint = "use a PodGroup, or remove the mark if the pod belongs to no gang"
            where = f"{item.title}: metadata {key}"
            raise InputError(where, value, "a gang mark that Stretto supports", hint)


_KNOWN: Final = frozenset(
    key for form in FORMS for key in (*form.names, *form.least, *form.ignored)
)
"""Every key of the table."""
