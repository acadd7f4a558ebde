"""The objects besides pods that ``stretto explain`` explains: units, queues and nodes.

A subject is written as kubectl writes objects, ``node/NAME``. A plain name means a pod. If no pod
has this name, it means any other object with the name.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import Enum
from typing import Final, NamedTuple

from stretto.api.wire.kinds import POD
from stretto.base.errors import InputError, NotFoundError, suggestion
from stretto.base.nearest import nearest
from stretto.control.dispatcher.membership import MembershipReader, group_unit
from stretto.control.queues.config import DispatcherConfig
from stretto.explain.inventory.meta import pod_meta
from stretto.explain.why.scene import Scene
from stretto.explain.why.sources.lookup import full_name
from stretto.explain.words.amounts import count_of_known
from stretto.stores.store import Record


class ExplainedKind(Enum):
    """Kind of the object to explain."""

    #: One pod.
    POD = "pod"
    #: A PodGroup or another unit.
    UNIT = "podgroup"
    #: A queue with its descendants.
    QUEUE = "queue"
    #: A node.
    NODE = "node"


class ExplainedObject(NamedTuple):
    """Object to explain."""

    #: Kind of the object.
    kind: ExplainedKind
    #: ``namespace/name`` of a pod, the key of a unit, or the name of a queue or node.
    name: str


_PREFIXES: Final = {
    "pod": ExplainedKind.POD,
    "pods": ExplainedKind.POD,
    "podgroup": ExplainedKind.UNIT,
    "podgroups": ExplainedKind.UNIT,
    "pg": ExplainedKind.UNIT,
    "unit": ExplainedKind.UNIT,
    "queue": ExplainedKind.QUEUE,
    "queues": ExplainedKind.QUEUE,
    "node": ExplainedKind.NODE,
    "nodes": ExplainedKind.NODE,
}
_KEYS: Final = ("PodGroupUnit/", "OwnerUnit/", "Pod/")
"""Prefixes of unit keys, as ``stretto get units -o name`` writes them."""


def subject_named(
    scene: Scene, records: Sequence[Record], text: str, namespace: str = ""
) -> ExplainedObject:
    """Find the object that a text names.

    Args:
        scene: the state.
        records: its objects.
        text: ``NAME``, ``NAMESPACE/NAME`` or ``KIND/NAME``.
        namespace: namespace for names without a namespace; empty for any.

    Raises:
        NotFoundError: no unit, queue or node has the name; the message lists similar names.
    """
    if text.startswith("Pod/"):
        return ExplainedObject(ExplainedKind.POD, text.removeprefix("Pod/"))
    if text.startswith(_KEYS):
        return ExplainedObject(ExplainedKind.UNIT, _unit_key(scene, records, text, namespace))
    prefix, slash, name = text.partition("/")
    kind = _PREFIXES.get(prefix.lower()) if slash else None
    if kind is None or _has_pod(scene, text):
        return _plain(scene, records, text, namespace)
    if kind is ExplainedKind.POD:
        return ExplainedObject(kind, _with(namespace, name))
    if kind is ExplainedKind.UNIT:
        return ExplainedObject(kind, _unit_key(scene, records, name, namespace))
    known = _queue_names(scene) if kind is ExplainedKind.QUEUE else scene.cluster.nodes.by_name
    _require(kind.value, name, known)
    return ExplainedObject(kind, name)


def unit_keys(scene: Scene, records: Sequence[Record]) -> dict[int, str]:
    """The key of the unit of each pod that belongs to one, by row."""
    reader = MembershipReader(DispatcherConfig())
    found = {}
    for record in records:
        row = scene.cluster.pods.row(record.uid) if record.kind == POD else None
        if row is None:
            continue
        unit = scene.notes.unit_of(row)
        key = unit.key if unit is not None and unit.kind != "Pod" else ""
        with suppress(InputError):
            key = key or pod_meta(record, reader)[1].key
        if key:
            found[row] = key
    return found


def _plain(scene: Scene, records: Sequence[Record], text: str, namespace: str) -> ExplainedObject:
    """Resolve a name without a kind: a pod, unless only another object has the name."""
    pod = ExplainedObject(ExplainedKind.POD, _with(namespace, text))
    if _has_pod(scene, pod.name):
        return pod
    if text in scene.cluster.nodes.by_name:
        return ExplainedObject(ExplainedKind.NODE, text)
    try:
        return ExplainedObject(ExplainedKind.UNIT, _unit_key(scene, records, text, namespace))
    except NotFoundError:
        return ExplainedObject(ExplainedKind.QUEUE, text) if text in _queue_names(scene) else pod


def _has_pod(scene: Scene, text: str) -> bool:
    """Return whether a pod has this name, handled or not."""
    pods = scene.cluster.pods
    if "/" in text:
        keys = (pods.key(row) for row in pods.rows().tolist())
        return text in scene.objects.unhandled or text in keys
    names = (pods.name[row] for row in pods.rows().tolist())
    return full_name(text) in scene.objects.unhandled or text in names


def _unit_key(scene: Scene, records: Sequence[Record], text: str, namespace: str) -> str:
    """Find the key of the unit that a text names.

    Raises:
        NotFoundError: no such unit; the message lists similar names.
    """
    groups = (group_unit(name) for name in scene.objects.groups)
    keys = list(dict.fromkeys([*unit_keys(scene, records).values(), *groups]))
    if text in keys:
        return text
    wanted = _with(namespace, text)
    ends = [key for key in keys if key.endswith(f"/{wanted}")]
    preferred = [key for key in ends if key.endswith(f"/{full_name(wanted)}")]
    if preferred or ends:
        return (preferred or ends)[0]
    _require("PodGroup", text, (key.rpartition("/")[2] for key in keys))
    raise AssertionError(text)


def _queue_names(scene: Scene) -> Sequence[str]:
    return [queue.name for queue in scene.queues]


def _require(word: str, name: str, known: Iterable[str]) -> None:
    names = sorted(set(known))
    if name not in names:
        hint = suggestion(nearest(name, names))
        raise NotFoundError(f"{word} {name}", count_of_known(len(names), word), hint)


def _with(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace and "/" not in name else name
