"""Fields of features that are disabled by default, which kube-apiserver drops."""

from collections.abc import Mapping
from typing import Any, Final

from stretto.api.admission.defaulting.edits import Edit

Json = dict[str, Any]


def _drop(*names: str) -> Edit:
    """Return an edit that removes members."""

    def edit(value: Json) -> None:
        for name in names:
            value.pop(name, None)

    return edit


def _container(container: Json) -> None:
    """Remove the stop signal; a lifecycle without other members goes with it."""
    lifecycle = container.get("lifecycle")
    if lifecycle and lifecycle.pop("stopSignal", None) is not None and not lifecycle:
        del container["lifecycle"]


DISABLED: Final[Mapping[str, Edit]] = {
    "core/v1.PodSpec": _drop("schedulingGroup"),
    "core/v1.Container": _container,
    "core/v1.EphemeralContainer": _container,
    "apps/v1.RollingUpdateStatefulSetStrategy": _drop("maxUnavailable"),
    "core/v1.VolumeProjection": _drop("clusterTrustBundle", "podCertificate"),
    "core/v1.NodeSpec": _drop("configSource"),
    "storage/v1.CSIDriverSpec": _drop("preventPodSchedulingIfMissing"),
    "discovery/v1.Endpoint": _drop("deprecatedTopology"),
    "resource/v1.Device": _drop("nodeAllocatableResourceMappings"),
    "resource/v1.DeviceAttribute": _drop("bools", "ints", "strings", "versions"),
    "coordination/v1.LeaseSpec": _drop("strategy", "preferredHolder"),
}
"""Edits by struct."""
