"""Fast generation of realistic pods: one JSON text per class, split at the names.

A benchmark of 50,000 pods a second must generate pods faster than that, in the size of production
pods (2.8 kB). Each class is encoded once and split at its names; a pod is then three joined pieces,
which takes half a microsecond.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.wire.kinds import DEFAULT_NAMESPACE
from stretto.api.wire.labels import ZONE_LABEL
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.inputs.objects.objects import GROUP, SCHEDULER_NAME, pod_group_body

MAX_CLASSES: Final = 10_000
"""Maximum number of classes with different requests."""
MAX_UNIT: Final = 100_000
"""Maximum number of pods of a unit, more than the largest reported gang."""
FIRST_HOST_PORT: Final = 20_000
"""First host port; each class has its own port, so classes do not conflict."""
DEDICATED: Final = "dedicated"
"""Key of the taint on some synthetic nodes, and of the tolerations of some classes."""
DISK_LABEL: Final = "stretto.dev/disk"
"""Label of synthetic nodes: ``ssd`` or ``hdd``."""

_NAME: Final = "@name@"
_UNIT: Final = "@unit@"
_UID: Final = "@uid@"
_CPU_MILLI: Final = range(100, 705, 5)
"""121 sizes with a mean of 0.4 cores: fifty pods fit the smallest synthetic node."""
_MEMORY_MIB: Final = range(128, 1936, 16)
"""113 sizes with a mean of 1 GiB."""


class TemplateSpec(msgspec.Struct, frozen=True):
    """Properties of the pods of a workload."""

    #: Number of classes.
    classes: int = 200
    #: Share of the classes with host ports, node selectors, affinity or tolerations.
    constrained: float = 0.3
    #: Pods per unit; with 1 each pod is a unit.
    units: int = 1
    #: True if units are PodGroups; otherwise the pods of a unit share an owner.
    gangs: bool = False
    #: Number of zones that affinity may use (``zone-0``, ...).
    zones: int = 10
    #: Namespace of the pods.
    namespace: str = DEFAULT_NAMESPACE
    #: Prefix of pod names.
    prefix: str = "pod"


class PodTemplates:
    """A source of pending pods with unique names."""

    def __init__(self, spec: TemplateSpec, rng: Rng) -> None:
        """Encode the classes; invalid counts and shares are refused."""
        _check(spec)
        self._spec = spec
        self._rng = rng
        self._generator = rng.child("order").numpy()
        objects = list(_objects(spec, rng))
        texts = [msgspec.json.encode(each) for each in objects]
        cuts = [_cut(text) for text in texts]
        self._heads = [head for head, _ in cuts]
        self._tails = [tail for _, tail in cuts]
        #: One body per class, named ``class-0000`` and so on.
        self.class_bodies: list[bytes] = [
            self._body(index, b"class-%04d" % index, b"shared") for index in range(spec.classes)
        ]
        #: Bodies of the PodGroups of all generated units; empty without ``gangs``.
        self.group_bodies: list[bytes] = []
        self._free_classes = np.array(
            [index for index, each in enumerate(objects) if not _has_host_port(each)], np.int32
        )
        self._pods = 0
        self._units = 0
        self._stream = self._in_units()

    def bodies(self, count: int) -> list[bytes]:
        """The next ``count`` pods: classes in random order, or one class for each unit."""
        if self._spec.units == 1 and not self._spec.gangs:
            return self._single(count)
        return list(islice(self._stream, count))

    def running_classes(self, count: int) -> npt.NDArray[np.int32]:
        """Classes of ``count`` running pods, without host ports (they would conflict)."""
        if not len(self._free_classes):
            expected = "a share of classes without host ports for running pods"
            raise InputError("constrained", self._spec.constrained, expected, "lower it")
        drawn = self._rng.child("running").numpy().integers(0, len(self._free_classes), count)
        return self._free_classes[drawn]

    def _single(self, count: int) -> list[bytes]:
        """Pods that are units of their own."""
        first, self._pods = self._pods, self._pods + count
        drawn = self._generator.integers(0, self._spec.classes, count).tolist()
        heads, tails, name = self._heads, self._tails, self._spec.prefix.encode() + b"-%07d"
        return [
            heads[index] + name % number + tails[index] for number, index in enumerate(drawn, first)
        ]

    def _in_units(self) -> Iterator[bytes]:
        """An endless sequence of pods, unit by unit."""
        spec, uids = self._spec, self._rng.child("owners")
        while True:
            unit = f"{spec.prefix}-unit-{self._units:06d}"
            self._units += 1
            index = int(self._generator.integers(0, spec.classes))
            tail = _filled(self._tails[index], unit.encode(), uids.uid().encode())
            if spec.gangs:
                self.group_bodies.append(pod_group_body(unit, spec.units, spec.namespace))
            for _ in range(spec.units):
                name = b"%s-%07d" % (spec.prefix.encode(), self._pods)
                self._pods += 1
                yield self._heads[index] + name + tail

    def _body(self, index: int, name: bytes, unit: bytes) -> bytes:
        """One pod of a class."""
        return self._heads[index] + name + _filled(self._tails[index], unit, unit)


def _check(spec: TemplateSpec) -> None:
    """Refuse invalid counts and shares."""
    if not 1 <= spec.classes <= MAX_CLASSES:
        raise InputError("classes", spec.classes, f"an integer 1..{MAX_CLASSES}")
    if not 0 <= spec.constrained <= 1:
        raise InputError("constrained", spec.constrained, "a share 0..1")
    if not 1 <= spec.units <= MAX_UNIT:
        raise InputError("units", spec.units, f"an integer 1..{MAX_UNIT}")
    if not 1 <= spec.zones <= 1000:
        raise InputError("zones", spec.zones, "an integer 1..1000")


def _cut(text: bytes) -> tuple[bytes, bytes]:
    """The text of a class before and after the pod's name."""
    head, _, tail = text.partition(_NAME.encode())
    return head, tail


def _filled(text: bytes, unit: bytes, uid: bytes) -> bytes:
    """A text with the unit's name and uid inserted."""
    return text.replace(_UNIT.encode(), unit).replace(_UID.encode(), uid)


def _has_host_port(pod: dict[str, Any]) -> bool:
    """True if a class has a host port."""
    return any("hostPort" in port for port in pod["spec"]["containers"][0]["ports"])


def _objects(spec: TemplateSpec, rng: Rng) -> Iterator[dict[str, Any]]:
    """The pod of each class, with placeholders for names."""
    draw = rng.child("classes")
    sizes = draw.child("sizes").numpy().permutation(len(_CPU_MILLI) * len(_MEMORY_MIB))
    chosen = draw.child("constrained").numpy().permutation(spec.classes)
    constrained = set(chosen[: round(spec.constrained * spec.classes)].tolist())
    kinds = 0
    for index in range(spec.classes):
        cpu, memory = divmod(int(sizes[index]), len(_MEMORY_MIB))
        pod = _plain(index, _CPU_MILLI[cpu], _MEMORY_MIB[memory], spec)
        if index in constrained:
            _constrain(pod, index, kinds, spec.zones)
            kinds += 1
        yield pod


def _constrain(pod: dict[str, Any], index: int, kind: int, zones: int) -> None:
    """Add two adjacent of four kinds of constraints to a class."""
    spec = pod["spec"]
    for each in (kind % 4, (kind + 1) % 4):
        if each == 0:
            spec["containers"][0]["ports"][0]["hostPort"] = FIRST_HOST_PORT + index
        elif each == 1:
            spec["nodeSelector"] = {DISK_LABEL: ("ssd", "hdd")[index % 2]}
        elif each == 2:
            named = sorted({f"zone-{(index + step) % zones}" for step in range(3)})
            term = [{"key": ZONE_LABEL, "operator": "In", "values": named}]
            required = {"nodeSelectorTerms": [{"matchExpressions": term}]}
            spec["affinity"] = {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
            }
        else:
            spec["tolerations"] = [
                {"key": DEDICATED, "operator": "Exists", "effect": "NoSchedule"},
                {"key": "class", "operator": "Equal", "value": f"c-{index}"},
            ]


def _plain(index: int, cpu_milli: int, memory_mib: int, spec: TemplateSpec) -> dict[str, Any]:
    """The pod of a class without constraints, with the text of a production pod."""
    app = f"app-{index:04d}"
    metadata: dict[str, Any] = {
        "name": _NAME,
        "namespace": spec.namespace,
        "labels": {
            "app": app,
            "app.kubernetes.io/name": app,
            "app.kubernetes.io/part-of": "shop",
            "pod-template-hash": f"{index * 2654435761 % 2**32:08x}",
        },
        "annotations": {
            "prometheus.io/scrape": "true",
            "prometheus.io/port": "9090",
            "checksum/config": f"{index * 11400714819323198485 % 2**64:016x}" * 4,
        },
    }
    if spec.gangs:
        metadata["labels"][GROUP] = metadata["annotations"][GROUP] = _UNIT
    elif spec.units > 1:
        metadata["ownerReferences"] = [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": _UNIT,
                "uid": _UID,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    resources = {"cpu": f"{cpu_milli}m", "memory": f"{memory_mib}Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": _plain_spec(app, {"requests": resources, "limits": resources}),
    }


def _plain_spec(app: str, resources: dict[str, Any]) -> dict[str, Any]:
    """The spec of a pod without constraints."""
    container = {
        "name": "main",
        "image": f"shop/{app}:1.42.0",
        "imagePullPolicy": "IfNotPresent",
        "args": ["--config=/etc/app/config.yaml", "--log-format=json", "--shutdown-grace=25s"],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [
            {"name": f"SETTING_{number:02d}", "value": f"{app}-value-{number:02d}"}
            for number in range(18)
        ],
        "resources": resources,
        "livenessProbe": _probe("/healthz", 10),
        "readinessProbe": _probe("/ready", 5),
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/app", "readOnly": True},
            {"name": "scratch", "mountPath": "/var/scratch"},
        ],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    return {
        "schedulerName": SCHEDULER_NAME,
        "containers": [container],
        "volumes": [
            {"name": "config", "configMap": {"name": f"{app}-config", "defaultMode": 420}},
            {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": app,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 10001, "fsGroup": 10001},
        "enableServiceLinks": False,
    }


def _probe(path: str, period: int) -> dict[str, Any]:
    """An HTTP probe."""
    return {
        "httpGet": {"path": path, "port": "http", "scheme": "HTTP"},
        "initialDelaySeconds": 5,
        "periodSeconds": period,
        "timeoutSeconds": 2,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
