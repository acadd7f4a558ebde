"""A pod in the form that the plugins read: the wire object and values compiled once from it.

Values that depend on the spec and the namespace alone form a ``SpecFacts``, shared by all pods with
the same spec: the pods of a controller are compiled once.
"""

from datetime import datetime
from functools import cached_property
from typing import Final

import msgspec

from stretto.api.types import effective_requests
from stretto.api.types.effective_requests import HostPort
from stretto.api.types.heads import image_name
from stretto.api.types.pod import Pod
from stretto.base.errors import InputError
from stretto.framework.model import requests
from stretto.framework.model.requests import Amounts
from stretto.framework.model.terms import NO_TERMS, AffinityTerms, terms_of
from stretto.state.classes.table import PodClass

NEVER_STARTED: Final = 2**63 - 1
"""Start of a pod that has not started: later than all others; upstream uses the current time."""
SHAPES_KEPT: Final = 1 << 14
"""Maximum number of cached specs; beyond it all are dropped and compiled again on demand."""

TemplateKey = tuple[object, ...]
"""Key that is equal for pods with equal results of every plugin."""

PodKey = tuple[str, str, str]
"""Namespace, name and uid: a new pod with the same name is a different pod."""


class SpecFacts:
    """Values that depend on a pod's spec and namespace alone."""

    def __init__(self, pod: Pod) -> None:
        """Store the pod; parts are computed on first use."""
        self._pod = pod

    @cached_property
    def as_class(self) -> PodClass:
        """The pod in the form of the shared rules, with only the fields that they read."""
        return PodClass(
            id=-1,
            serial=0,
            spec=self._pod.spec,
            requests=(),
            ports=self.ports,
            devices=(),
            images=self.images,
            mounts=self.mounts,
        )

    @cached_property
    def filter_requests(self) -> Amounts:
        """Amounts that must be free."""
        return requests.filter_requests(self._pod)

    @cached_property
    def fit_score(self) -> tuple[int, int]:
        """Amounts of cpu and memory for the least-allocated score."""
        return requests.fit_score_requests(self._pod)

    @cached_property
    def balance(self) -> tuple[int, int]:
        """Amounts of cpu and memory for the balance score."""
        return requests.balance_requests(self._pod)

    @cached_property
    def running(self) -> tuple[Amounts, int, int]:
        """The pod's amounts on a node, and cpu and memory as the score counts them."""
        return requests.running(self._pod)

    @cached_property
    def ports(self) -> tuple[HostPort, ...]:
        """Ports of the node."""
        return effective_requests.host_ports(self._pod.spec)

    @cached_property
    def terms(self) -> AffinityTerms:
        """Terms of pod affinity; none if one is malformed."""
        return NO_TERMS if self.malformed else terms_of(self._pod)

    @cached_property
    def malformed(self) -> str:
        """Error in the terms of pod affinity; empty for none."""
        try:
            terms_of(self._pod)
        except InputError as error:
            return str(error)
        return ""

    @cached_property
    def pvcs(self) -> tuple[tuple[str, bool], ...]:
        """Names of the PVCs, each with true if it is ephemeral (then the name is a suffix)."""
        found: list[tuple[str, bool]] = []
        for volume in self._pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                found.append((volume.persistent_volume_claim.claim_name, False))
            elif volume.ephemeral is not None:
                found.append((volume.name, True))
        return tuple(found)

    @cached_property
    def node_key(self) -> bytes:
        """Key that is equal for pods with the same node selector and required node affinity."""
        affinity = self._pod.spec.affinity
        nodes = affinity.node_affinity if affinity is not None else None
        return msgspec.json.encode(
            (self._pod.spec.node_selector, nodes.required if nodes is not None else None)
        )

    @cached_property
    def preferred_key(self) -> bytes:
        """Key that is equal for pods with the same preferred node affinity; empty without any."""
        affinity = self._pod.spec.affinity
        if affinity is None or affinity.node_affinity is None:
            return b""
        preferred = affinity.node_affinity.preferred
        return msgspec.json.encode(preferred) if preferred else b""

    @cached_property
    def toleration_key(self) -> bytes:
        """Key that is equal for pods with the same tolerations."""
        tolerations = self._pod.spec.tolerations
        return msgspec.json.encode(tolerations) if tolerations else b""

    @cached_property
    def images(self) -> tuple[str, ...]:
        """Images by their full names, init containers first."""
        spec = self._pod.spec
        return tuple(image_name(each.image) for each in (*spec.init_containers, *spec.containers))

    @cached_property
    def mounts(self) -> tuple[str, ...]:
        """Images that are volumes, by their full names."""
        found = [each.image for each in self._pod.spec.volumes if each.image is not None]
        return tuple(image_name(each.reference) for each in found)


def key_of(pod: Pod) -> PodKey:
    """The identity of a pod."""
    meta = pod.metadata
    return meta.namespace, meta.name, meta.uid


class SchedulingFacts:
    """One pod."""

    __slots__ = ("key", "labels", "namespace", "pod", "priority", "shape", "start", "terminating")

    def __init__(self, pod: Pod, shape: SpecFacts) -> None:
        """Read a pod's identity."""
        meta = pod.metadata
        #: The wire object.
        self.pod = pod
        #: Values compiled from its spec.
        self.shape = shape
        #: Namespace of the pod.
        self.namespace = meta.namespace
        #: Identity of the pod.
        self.key = key_of(pod)
        #: Labels of the pod.
        self.labels = meta.labels
        #: Priority of the pod; 0 if none was resolved.
        self.priority = pod.spec.priority or 0
        #: Start time in microseconds; ``NEVER_STARTED`` for none.
        self.start = started(pod.status.start_time)
        #: True if the pod is terminating.
        self.terminating = meta.deletion_timestamp is not None

    @property
    def as_class(self) -> PodClass:
        """The pod in the form of the shared rules.

        Pods of one spec share it unless they name a node.
        """
        found, spec = self.shape.as_class, self.pod.spec
        if found.spec.node_name == spec.node_name:
            return found
        return msgspec.structs.replace(found, spec=spec)

    def template_key(self) -> TemplateKey | None:
        """Key that is equal for pods with equal results of every plugin.

        ``None`` for a unique pod.
        """
        if any(own for _, own in self.shape.pvcs):
            return None
        owner = self.pod.metadata.controller()
        return self.shape, tuple(sorted(self.labels.items())), self.priority, owner

    def pvc_names(self) -> list[tuple[str, bool]]:
        """PVCs of the pod, each with true if it is ephemeral."""
        _, name, _ = self.key
        return [(f"{name}-{each}" if own else each, own) for each, own in self.shape.pvcs]


class FactsCompiler:
    """Creates facts of pods; equal specs are compiled once."""

    def __init__(self) -> None:
        """Start empty."""
        self._shapes: dict[tuple[str, bytes], SpecFacts] = {}

    def facts(self, pod: Pod) -> SchedulingFacts:
        """Return the facts of a pod that the plugins read."""
        status = pod.status
        if status.container_statuses or status.init_container_statuses or status.resources:
            return SchedulingFacts(pod, SpecFacts(pod))
        spec = pod.spec
        if spec.node_name:
            spec = msgspec.structs.replace(spec, node_name="")
        key = (pod.metadata.namespace, msgspec.json.encode(spec))
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= SHAPES_KEPT:
                self._shapes.clear()
            shape = self._shapes[key] = SpecFacts(pod)
        return SchedulingFacts(pod, shape)


def started(time: str | None) -> int:
    """Convert an RFC 3339 time to microseconds."""
    if time is None:
        return NEVER_STARTED
    return round(datetime.fromisoformat(time).timestamp() * 1e6)
