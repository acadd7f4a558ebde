"""Versions of the API groups of Kubernetes, served or not.

Each version has a kind DeleteOptions.
"""

from typing import Final

ALL_VERSIONS: Final = tuple(
    (group, version)
    for group, versions in {
        "": "v1",
        "admissionregistration.k8s.io": "v1 v1alpha1 v1beta1",
        "apps": "v1 v1beta1 v1beta2",
        "authentication.k8s.io": "v1 v1alpha1 v1beta1",
        "authorization.k8s.io": "v1 v1beta1",
        "autoscaling": "v1 v2",
        "batch": "v1 v1beta1",
        "certificates.k8s.io": "v1 v1alpha1 v1beta1",
        "coordination.k8s.io": "v1 v1alpha2 v1beta1",
        "discovery.k8s.io": "v1 v1beta1",
        "events.k8s.io": "v1 v1beta1",
        "extensions": "v1beta1",
        "flowcontrol.apiserver.k8s.io": "v1 v1beta1 v1beta2 v1beta3",
        "internal.apiserver.k8s.io": "v1alpha1",
        "networking.k8s.io": "v1 v1beta1",
        "node.k8s.io": "v1 v1alpha1 v1beta1",
        "policy": "v1 v1beta1",
        "rbac.authorization.k8s.io": "v1 v1alpha1 v1beta1",
        "resource.k8s.io": "v1 v1alpha3 v1beta1 v1beta2",
        "scheduling.k8s.io": "v1 v1alpha2 v1beta1",
        "storage.k8s.io": "v1 v1alpha1 v1beta1",
        "storagemigration.k8s.io": "v1beta1",
    }.items()
    for version in versions.split()
)
"""(group, version), in the order of documents."""

MERGED_VERSIONS: Final = tuple(
    sorted(
        (
            *ALL_VERSIONS,
            *(("admission.k8s.io", each) for each in ("v1", "v1beta1")),
            *(("apiextensions.k8s.io", each) for each in ("v1", "v1beta1")),
            *(("apiregistration.k8s.io", each) for each in ("v1", "v1beta1")),
            ("imagepolicy.k8s.io", "v1alpha1"),
        )
    )
)
"""``ALL_VERSIONS`` of the version 2 document, to which all parts of a server contribute."""
