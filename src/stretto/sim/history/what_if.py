"""Variations of a recorded history, from options of the command line.

add-nodes   NODE:N[@SECOND]             N more nodes like one of the cluster
            64cpu-256gib:N[@SECOND]     N more nodes of a shape
drain       KEY=VALUE[@SECOND]          nodes with a label are cordoned and drained
burst       NAMESPACE/POD:N[@SECOND]    N more pods like one of the recording
queue       NAME:FIELD=VALUE[,...]      another weight, policy, limit or guarantee of a queue
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from math import inf
from typing import Any, Final

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.godel import Queue
from stretto.api.wire.kinds import NODE, QUEUE
from stretto.api.wire.labels import HOSTNAME_LABEL
from stretto.base.errors import InputError, NotFoundError, UnknownNameError, quoted, suggestion
from stretto.base.nearest import nearest
from stretto.inputs.neutral.shapes import nodes_like
from stretto.inputs.objects.objects import node_body
from stretto.inputs.objects.recordings import ChangeType, RecordedChange
from stretto.sim.history.histories import PodHistory, ReplayHistory

MOST: Final = 100_000
"""Maximum number of nodes or pods that one variation may add."""
BIND_DELAY: Final = 0.001
"""Seconds from arrival to bind of burst pods; a pod at second 0 would count as running."""
_COUNTED: Final = re.compile(r"(?P<name>[^:@\s]+):(?P<count>\d{1,6})(?:@(?P<at>\d+(?:\.\d+)?))?")
_LABELLED: Final = re.compile(r"(?P<key>[^=@\s]+)=(?P<value>[^@\s]*)(?:@(?P<at>\d+(?:\.\d+)?))?")
_SHAPED: Final = re.compile(r"\d+cpu-")
_QUEUE_FIELDS: Final = ("weight", "policy", "maxRunningUnits", "parent")


def labels_of(body: Mapping[str, Any]) -> Mapping[str, str]:
    """The labels of an object."""
    return (body.get("metadata") or {}).get("labels") or {}


class NodeDrain(msgspec.Struct, frozen=True):
    """A drain of the nodes with a label."""

    #: Label key.
    key: str
    #: Label value.
    value: str
    #: Second of the drain.
    at: float = 0.0

    def touches(self, node: Mapping[str, Any]) -> bool:
        """True if a node has the label."""
        return bool(labels_of(node).get(self.key) == self.value)


class ExtraObjects(msgspec.Struct, frozen=True):
    """Additional nodes or pods."""

    #: Template: a node, a shape, or ``namespace/pod``.
    like: str
    #: Number of objects.
    count: int
    #: Second of the creation.
    at: float = 0.0


class Variation(msgspec.Struct, frozen=True):
    """All differences from the recorded history."""

    #: Additional nodes.
    nodes: tuple[ExtraObjects, ...] = ()
    #: Drains of nodes.
    drains: tuple[NodeDrain, ...] = ()
    #: Additional pods.
    bursts: tuple[ExtraObjects, ...] = ()
    #: Changed QueueSpec fields, by the name of the queue.
    queue_fields: Mapping[str, Mapping[str, Any]] = {}

    def applied(self, history: ReplayHistory) -> ReplayHistory:
        """The history with additional nodes and pods and changed queues; drains are not applied.

        Raises:
            InputError: a time or a parent queue is out of range.
            NotFoundError: a node, label, pod or queue is not in the recording.
        """
        _check_time(self, history)
        for drain in self.drains:
            _check_drain(drain, history)
        objects = [_with_fields(each, self.queue_fields) for each in history.objects]
        objects += [_queue_of(name, self.queue_fields[name]) for name in self.new_queues(history)]
        changes = [_with_fields(each, self.queue_fields) for each in history.changes]
        _check_parents(self.queue_fields, (*objects, *changes))
        taken = {each.name for each in (*objects, *history.changes) if each.kind is NODE}
        nodes = [node for more in self.nodes for node in _nodes(more, history, taken)]
        names = _keys(history)
        bursts = (pod for more in self.bursts for pod in _burst(more, history, names))
        return msgspec.structs.replace(
            history,
            objects=[*objects, *(node for node in nodes if not node.time_s)],
            changes=sorted(
                (*changes, *(node for node in nodes if node.time_s)),
                key=lambda change: change.time_s,
            ),
            pods=sorted((*history.pods, *bursts), key=lambda pod: pod.arrived),
        )

    def new_queues(self, history: ReplayHistory) -> list[str]:
        """Names of the queues that are created because the history does not have them."""
        all_of = (*history.objects, *history.changes)
        known = {each.name for each in all_of if each.kind is QUEUE}
        return [name for name in self.queue_fields if name not in known]

    @property
    def is_nothing(self) -> bool:
        """True if nothing is varied."""
        return not (self.nodes or self.drains or self.bursts or self.queue_fields)

    def moments(self) -> list[tuple[float, str]]:
        """Second and text of each drain, burst and addition of nodes, in order."""
        found = [(e.at, f"drain {e.key.rpartition('/')[2]}={e.value}") for e in self.drains]
        found += [(e.at, f"burst {e.like}:{e.count}") for e in self.bursts]
        found += [(e.at, f"nodes {e.like}:{e.count}") for e in self.nodes]
        return sorted(found)


def read_variation(
    nodes: Sequence[str], drains: Sequence[str], bursts: Sequence[str], queues: Sequence[str]
) -> Variation:
    """Parse a variation from the values of options.

    Raises:
        InputError: a value is invalid; the message contains the option.
        UnknownNameError: a field of a queue does not exist.
    """
    fields: dict[str, dict[str, Any]] = {}
    for text in queues:
        name, changed = _queue(text)
        fields.setdefault(name, {}).update(changed)
    return Variation(
        tuple(_more("--add-nodes", text, "NODE:N, such as worker-1:20") for text in nodes),
        tuple(_drain(text) for text in drains),
        tuple(_more("--burst", text, "NAMESPACE/POD:N, such as web/api-0:100") for text in bursts),
        fields,
    )


# ---------------------------------------------------------------- reading options


def _more(option: str, text: str, expected: str) -> ExtraObjects:
    parts = _COUNTED.fullmatch(text)
    if parts is None or not 0 < int(parts["count"]) <= MOST:
        raise InputError(option, text, f"{expected} (1..{MOST:,}; append @SECOND for a later time)")
    return ExtraObjects(parts["name"], int(parts["count"]), float(parts["at"] or 0))


def _drain(text: str) -> NodeDrain:
    parts = _LABELLED.fullmatch(text)
    if parts is None:
        expected = "a node label, such as example.com/rack=r1; append @SECOND for a later time"
        raise InputError("--drain", text, expected)
    return NodeDrain(parts["key"], parts["value"], float(parts["at"] or 0))


def _queue(text: str) -> tuple[str, dict[str, Any]]:
    """``batch:weight=3,limit.cpu=100`` as a name and fields of a QueueSpec."""
    name, colon, rest = text.partition(":")
    changed: dict[str, Any] = {}
    for part in rest.split(","):
        field, equals, value = part.partition("=")
        if not (name and colon and equals and value):
            raise InputError("--queue-share", text, "NAME:FIELD=VALUE, such as batch:weight=3")
        group, dot, resource = field.partition(".")
        if dot and group in ("limit", "guarantee"):
            changed.setdefault(group, {})[resource] = value
        elif field in ("weight", "maxRunningUnits"):
            if not value.isdecimal():
                raise InputError(f"--queue-share {name}:{field}", value, "a whole number")
            changed[field] = int(value)
        elif field in _QUEUE_FIELDS:
            changed[field] = value
        else:
            known = [*_QUEUE_FIELDS, "limit.RESOURCE", "guarantee.RESOURCE"]
            raise UnknownNameError(f"field of --queue-share {name}", field, known)
    return name, changed


# ---------------------------------------------------------------- applying


def queues_of(history: ReplayHistory) -> list[Queue]:
    """The initial queues of a history, decoded."""
    found = [each for each in history.objects if each.kind is QUEUE]
    return [decode_as(Queue, msgspec.json.encode(each.body)) for each in found]


def _with_fields(each: RecordedChange, fields: Mapping[str, Mapping[str, Any]]) -> RecordedChange:
    """An initial object or a change, with the changed fields if it is a queue.

    Changes of queues are edited too, because a recorded status change contains the whole spec and
    would restore the recorded fields.
    """
    if each.kind is not QUEUE or each.name not in fields:
        return each
    body = deepcopy(each.body)
    _merge(body.setdefault("spec", {}), fields[each.name])
    return msgspec.structs.replace(each, body=body)


def _queue_of(name: str, fields: Mapping[str, Any]) -> RecordedChange:
    """A queue that the recording does not have."""
    meta = {"apiVersion": QUEUE.api_version, "kind": QUEUE.kind, "metadata": {"name": name}}
    body = {**meta, "spec": deepcopy(dict(fields))}
    return RecordedChange(0.0, ChangeType.ADDED, QUEUE, "", name, "", body)


def _merge(spec: dict[str, Any], changed: Mapping[str, Any]) -> None:
    for field, value in changed.items():
        if isinstance(value, dict):
            spec[field] = {**(spec.get(field) or {}), **value}
        else:
            spec[field] = value


def _nodes(more: ExtraObjects, history: ReplayHistory, taken: set[str]) -> Iterator[RecordedChange]:
    """Additional nodes, like an existing one or of a shape."""
    if _SHAPED.match(more.like):
        shapes = nodes_like(f"{more.like}:1", "more", "--add-nodes")
        models, stem = [msgspec.json.decode(node_body(shape)) for shape in shapes], "more"
    else:
        found = {each.name: each.body for each in history.objects if each.kind is NODE}
        if more.like not in found:
            hint = "use a node of the recording, or a shape such as 64cpu-256gib"
            raise _missing("--add-nodes: node", more.like, found, hint)
        models, stem = [found[more.like]], f"{more.like}-more"
    for like in models:
        for name in _names(stem, more.count, taken):
            yield _node(name, like, more.at)


def _names(stem: str, count: int, taken: set[str]) -> Iterator[str]:
    """New names that are not in ``taken``; they are added to it."""
    free = (name for i in itertools.count(1) if (name := f"{stem}-{i}") not in taken)
    for name in itertools.islice(free, count):
        taken.add(name)
        yield name


def _node(name: str, like: Mapping[str, Any], at: float) -> RecordedChange:
    body = deepcopy(dict(like))
    meta = body["metadata"]
    meta["name"] = name
    meta.pop("uid", None)
    meta.pop("creationTimestamp", None)
    if HOSTNAME_LABEL in (meta.get("labels") or {}):
        meta["labels"][HOSTNAME_LABEL] = name
    return RecordedChange(at, ChangeType.ADDED, NODE, "", name, "", body)


def _burst(more: ExtraObjects, history: ReplayHistory, taken: set[str]) -> Iterator[PodHistory]:
    """Additional pods, like a pod of the recording."""
    namespace, _, name = more.like.rpartition("/")
    namespace = namespace or "default"
    found = (pod for pod in history.pods if (pod.namespace, pod.name) == (namespace, name))
    model = next(found, None)
    if model is None:
        hint = "use a pod of the recording as NAMESPACE/POD"
        raise _missing("--burst: pod", f"{namespace}/{name}", _keys(history), hint)
    bound = more.at + BIND_DELAY if model.run_time < inf else inf
    for key in _names(f"{namespace}/{name[:230]}-burst", more.count, taken):
        body = deepcopy(model.body)
        body["metadata"]["name"] = copy = key.rpartition("/")[2]
        yield msgspec.structs.replace(
            model,
            name=copy,
            body=body,
            arrived=more.at,
            bound=bound,
            ended=bound + model.run_time,
            fixed=False,
            node="",
        )


def _keys(history: ReplayHistory) -> set[str]:
    """The pods of a history, as ``namespace/name``."""
    return {f"{pod.namespace}/{pod.name}" for pod in history.pods}


# ---------------------------------------------------------------- checking


def _missing(what: str, name: str, known: Iterable[str], hint: str) -> NotFoundError:
    """The error for a name that is not in the recording, with the nearest known name."""
    return NotFoundError(what, quoted(name), suggestion(nearest(name, known), hint))


def _check_drain(drain: NodeDrain, history: ReplayHistory) -> None:
    """Check that a drain matches a node."""
    nodes = [each.body for each in history.objects if each.kind is NODE]
    if any(map(drain.touches, nodes)):
        return
    known = {f"{key}={value}" for node in nodes for key, value in labels_of(node).items()}
    hint = "use a label of a node in the recording"
    raise _missing("--drain: node with label", f"{drain.key}={drain.value}", known, hint)


def _check_time(variation: Variation, history: ReplayHistory) -> None:
    """Check that all times are within the recording."""
    for option, parts in (
        ("--add-nodes", variation.nodes),
        ("--drain", variation.drains),
        ("--burst", variation.bursts),
    ):
        for part in parts:
            if part.at > history.seconds:
                expected = f"a second of the recording, 0..{history.seconds:g}"
                raise InputError(option, f"@{part.at:g}", expected)


def _check_parents(
    fields: Mapping[str, Mapping[str, Any]], objects: Sequence[RecordedChange]
) -> None:
    """Check that parents of changed queues exist and form no cycle."""
    queues = [each for each in objects if each.kind is QUEUE]
    parents = {each.name: (each.body.get("spec") or {}).get("parent") for each in queues}
    for name, changed in fields.items():
        option, parent = f"--queue-share {name}:parent", changed.get("parent")
        if parent and parent not in parents:
            hint = "use a queue of the recording, or create the queue by another --queue-share"
            raise _missing(f"{option}: queue", parent, parents, hint)
        above: list[str] = []
        while parent in parents and parent not in above:
            above.append(parent)
            parent = parents[parent]
        if name in above:
            raise InputError(option, above[0], f"a queue that is not {name} or below it")
