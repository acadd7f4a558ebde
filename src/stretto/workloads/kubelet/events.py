"""The events of kubelets about pods, with the texts of the kubelet."""

from collections.abc import Callable, Iterable
from typing import Final

from stretto.reconcile.cache import Fields, StoredObject
from stretto.reconcile.events import EventLevel, EventOrigin, EventText
from stretto.workloads.cluster import KUBELET, LocalCluster

_NORMAL: Final = EventLevel.NORMAL
_WARNING: Final = EventLevel.WARNING
_Texts = Callable[[Fields], Iterable[EventText]]
"""Returns the events about one container."""


class PodEvents:
    """Writer of the kubelets' events about the containers of pods."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Write for the pods of a cluster; without a recorder of kubelets, write no events."""
        self._cluster = cluster

    def started(self, pod: StoredObject) -> None:
        """Write the events of starting containers, for the first start or a restart."""
        self._write(pod, _started)

    def unhealthy(self, pod: StoredObject) -> None:
        """Write one event about failing readiness probes; a real kubelet repeats it."""
        text = EventText(_WARNING, "Unhealthy", "Readiness probe failed: ")
        self._write(pod, lambda container: [text] if container.get("readinessProbe") else [])

    def backed_off(self, pod: StoredObject) -> None:
        """Write the events of ended containers that wait for their restart."""
        record = pod.record
        whole = f"{record.name}_{record.namespace}({record.uid})"

        def texts(container: Fields) -> Iterable[EventText]:
            text = f"Back-off restarting failed container {container['name']} in pod {whole}"
            yield EventText(_WARNING, "BackOff", text)

        self._write(pod, texts)

    def not_pulled(self, pod: StoredObject, image: str) -> None:
        """Write the events of an image that cannot be pulled.

        Containers with other images start.
        """
        self._write(
            pod, lambda each: _not_pulled(image) if each.get("image") == image else _started(each)
        )

    def stopped(self, pod: StoredObject) -> None:
        """Write the events of stopped containers of a pod that is deleted."""
        running = {
            each["name"]
            for each in pod.status.get("containerStatuses") or ()
            if "running" in (each.get("state") or {})
        }

        def texts(container: Fields) -> Iterable[EventText]:
            if container["name"] in running:
                yield EventText(_NORMAL, "Killing", f"Stopping container {container['name']}")

        self._write(pod, texts)

    def _write(self, pod: StoredObject, texts: _Texts) -> None:
        for container in pod.spec.get("containers") or ():
            path = f"spec.containers{{{container['name']}}}"
            origin = EventOrigin(pod.record.node, path)
            self._cluster.note(KUBELET, pod, *texts(container), origin=origin)


def _started(container: Fields) -> Iterable[EventText]:
    name, image = container["name"], container.get("image", "")
    present = f'Container image "{image}" already present on machine'
    yield EventText(_NORMAL, "Pulled", present)
    yield EventText(_NORMAL, "Created", f"Created container: {name}")
    yield EventText(_NORMAL, "Started", f"Started container {name}")


def _not_pulled(image: str) -> Iterable[EventText]:
    yield EventText(_NORMAL, "Pulling", f'Pulling image "{image}"')
    failed = f'Failed to pull image "{image}": {image}: not found'
    yield EventText(_WARNING, "Failed", failed)
    yield EventText(_WARNING, "Failed", "Error: ErrImagePull")
    yield EventText(_NORMAL, "BackOff", f'Back-off pulling image "{image}"')
    yield EventText(_WARNING, "Failed", "Error: ImagePullBackOff")
