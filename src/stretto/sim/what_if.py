"""What if: variations of a recorded history, each said in a word on the command line.

add-nodes   NODE:N or 64cpu-256gib:N    N more nodes like one of the cluster, or of a shape
drain       KEY=VALUE[@SECOND]          nodes with a label are cordoned and emptied
burst       NAMESPACE/POD:N[@SECOND]    N more pods like one of the recording
queue       NAME:FIELD=VALUE[,...]      a queue with another weight, policy, limit, guarantee
"""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from math import inf
from typing import Any, Final

import msgspec

from stretto.api.codec import decode_as
from stretto.api.kinds import NODE, QUEUE
from stretto.api.scheduling import Queue
from stretto.base.errors import InputError, NotFoundError, UnknownNameError
from stretto.inputs.objects import node_body
from stretto.inputs.recordings import Change, What
from stretto.inputs.shapes import nodes_like
from stretto.sim.histories import History, PodHistory

HOSTNAME: Final = "kubernetes.io/hostname"
MOST: Final = 100_000
"""Nodes or pods that one variation may add."""
_COUNTED: Final = re.compile(r"(?P<name>[^:@\s]+):(?P<count>\d{1,6})(?:@(?P<at>\d+(?:\.\d+)?))?")
_LABELLED: Final = re.compile(r"(?P<key>[^=@\s]+)=(?P<value>[^@\s]*)(?:@(?P<at>\d+(?:\.\d+)?))?")
_SHAPED: Final = re.compile(r"\d+cpu-")
_QUEUE_FIELDS: Final = ("weight", "policy", "maxRunningUnits", "parent")


class Drain(msgspec.Struct, frozen=True):
    """Nodes that are emptied."""

    #: Label key and value that they have.
    key: str
    value: str
    #: Second at which.
    at: float = 0.0

    def touches(self, node: Mapping[str, Any]) -> bool:
        """Whether a node is one of them."""
        labels = (node.get("metadata") or {}).get("labels") or {}
        return bool(labels.get(self.key) == self.value)


class More(msgspec.Struct, frozen=True):
    """More of something."""

    #: Node, shape, or ``namespace/pod`` that they are like.
    like: str
    #: How many.
    count: int
    #: Second at which they come.
    at: float = 0.0


class Variation(msgspec.Struct, frozen=True):
    """Everything that is otherwise."""

    #: More nodes.
    nodes: tuple[More, ...] = ()
    #: Nodes that are emptied.
    drains: tuple[Drain, ...] = ()
    #: More pods.
    bursts: tuple[More, ...] = ()
    #: Fields of queues by name.
    queue_fields: Mapping[str, Mapping[str, Any]] = {}

    def applied(self, history: History) -> History:
        """The history with more nodes, more pods and other queues; drains happen as it runs."""
        objects = [*_with_queues(history.objects, self.queue_fields)]
        objects.extend(each for more in self.nodes for each in _nodes(more, history))
        pods = [*history.pods, *(pod for more in self.bursts for pod in _burst(more, history))]
        for drain in self.drains:
            _must_match(drain, history)
        pods.sort(key=lambda pod: pod.came)
        return msgspec.structs.replace(history, objects=objects, pods=pods)

    def queues(self, history: History) -> list[Queue]:
        """The queues of a history that ``applied`` has made, as the plane is told of them."""
        found = [each for each in history.objects if each.kind is QUEUE]
        return [decode_as(Queue, msgspec.json.encode(each.body)) for each in found]

    @property
    def is_nothing(self) -> bool:
        """Whether all is as it was."""
        return not (self.nodes or self.drains or self.bursts or self.queue_fields)


AS_IT_WAS: Final = Variation()


def read_variation(
    nodes: Sequence[str], drains: Sequence[str], bursts: Sequence[str], queues: Sequence[str]
) -> Variation:
    """A variation from the words of a command line.

    Raises:
        InputError: a word makes no sense; the option is named.
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


# ---------------------------------------------------------------- reading words


def _more(option: str, text: str, expected: str) -> More:
    parts = _COUNTED.fullmatch(text)
    if parts is None or not 0 < int(parts["count"]) <= MOST:
        raise InputError(option, text, f"{expected} (1..{MOST:,}, @SECOND behind it for later)")
    return More(parts["name"], int(parts["count"]), float(parts["at"] or 0))


def _drain(text: str) -> Drain:
    parts = _LABELLED.fullmatch(text)
    if parts is None:
        expected = "a node label, such as example.com/rack=r1, @SECOND behind it for later"
        raise InputError("--drain", text, expected)
    return Drain(parts["key"], parts["value"], float(parts["at"] or 0))


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
            raise UnknownNameError("queue field", field, known)
    return name, changed


# ---------------------------------------------------------------- applying


def _with_queues(
    objects: Sequence[Change], fields: Mapping[str, Mapping[str, Any]]
) -> list[Change]:
    """The objects with queues changed; a queue that is not there is made."""
    found, left = [], dict(fields)
    for each in objects:
        changed = left.pop(each.name, None) if each.kind is QUEUE else None
        if changed is not None:
            body = deepcopy(each.body)
            _merge(body.setdefault("spec", {}), changed)
            each = msgspec.structs.replace(each, body=body)
        found.append(each)
    for name, changed in left.items():
        meta = {"apiVersion": QUEUE.api_version, "kind": QUEUE.kind, "metadata": {"name": name}}
        body = {**meta, "spec": deepcopy(dict(changed))}
        found.append(Change(0.0, What.ADDED, QUEUE, "", name, "", body))
    return found


def _merge(spec: dict[str, Any], changed: Mapping[str, Any]) -> None:
    for field, value in changed.items():
        if isinstance(value, dict):
            spec[field] = {**(spec.get(field) or {}), **value}
        else:
            spec[field] = value


def _nodes(more: More, history: History) -> list[Change]:
    """More nodes, like one that there is or of a shape."""
    if _SHAPED.match(more.like):
        shapes = nodes_like(f"{more.like}:{more.count}", "more", "--add-nodes")
        bodies = [msgspec.json.decode(node_body(node)) for node in shapes]
        return [_node(body["metadata"]["name"], body) for body in bodies]
    model = next((e for e in history.objects if e.kind is NODE and e.name == more.like), None)
    if model is None:
        hint = "name a node of the recording, or a shape such as 64cpu-256gib"
        raise NotFoundError("node", more.like, hint)
    return [_node(f"{more.like}-more-{i}", model.body) for i in range(1, more.count + 1)]


def _node(name: str, like: Mapping[str, Any]) -> Change:
    body = deepcopy(dict(like))
    meta = body["metadata"]
    meta["name"] = name
    meta.pop("uid", None)
    meta.pop("creationTimestamp", None)
    if HOSTNAME in (meta.get("labels") or {}):
        meta["labels"][HOSTNAME] = name
    return Change(0.0, What.ADDED, NODE, "", name, "", body)


def _burst(more: More, history: History) -> list[PodHistory]:
    """More pods like one of the recording."""
    namespace, _, name = more.like.rpartition("/")
    namespace = namespace or "default"
    found = (pod for pod in history.pods if (pod.namespace, pod.name) == (namespace, name))
    model = next(found, None)
    if model is None:
        raise NotFoundError("pod", f"{namespace}/{name}", "name a pod of the recording")
    ran = model.ran_for
    made = []
    for i in range(1, more.count + 1):
        body = deepcopy(model.body)
        body["metadata"]["name"] = copy = f"{name[:230]}-burst-{i}"
        left = more.at + ran if ran < inf else inf
        bound = more.at if ran < inf else inf
        made.append(
            msgspec.structs.replace(
                model, name=copy, body=body, came=max(more.at, 0.001), bound=bound, left=left,
                fixed=False, node="",
            )
        )  # fmt: skip
    return made


def _must_match(drain: Drain, history: History) -> None:
    """A drain that touches no node is a mistake."""
    if not any(each.kind is NODE and drain.touches(each.body) for each in history.objects):
        hint = "name a label that some node of the recording has"
        raise NotFoundError("node with label", f"{drain.key}={drain.value}", hint)
