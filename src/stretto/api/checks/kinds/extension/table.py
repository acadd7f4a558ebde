"""The rules of kinds that extend the API."""

from collections.abc import Mapping
from typing import Final

from stretto.api.checks.fields.shapes import KindRule, PartRule
from stretto.api.checks.kinds.extension import (
    aggregation,
    definitions,
    devices,
    policies,
    slices,
    webhooks,
)

_ADMISSION: Final = "admissionregistration.k8s.io"
_CERTIFICATES: Final = "certificates.k8s.io"
_DEVICES: Final = "resource.k8s.io"
_FLOW: Final = "flowcontrol.apiserver.k8s.io"

EXTENSION_RULES: Final[Mapping[tuple[str, str], KindRule]] = {
    (_ADMISSION, "ValidatingWebhookConfiguration"): webhooks.check_webhooks,
    (_ADMISSION, "MutatingWebhookConfiguration"): webhooks.check_webhooks,
    (_ADMISSION, "ValidatingAdmissionPolicy"): policies.check_policy,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): policies.check_policy_binding,
    (_ADMISSION, "MutatingAdmissionPolicy"): policies.check_mutating_policy,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): policies.check_mutating_binding,
    ("apiregistration.k8s.io", "APIService"): aggregation.check_api_service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): definitions.check_definition,
    (_FLOW, "FlowSchema"): aggregation.check_flow_schema,
    (_FLOW, "PriorityLevelConfiguration"): aggregation.check_priority_level,
    (_CERTIFICATES, "CertificateSigningRequest"): aggregation.check_signing_request,
    (_DEVICES, "ResourceClaim"): devices.check_claim,
    (_DEVICES, "ResourceClaimTemplate"): devices.check_claim_template,
    (_DEVICES, "DeviceClass"): devices.check_class,
    (_DEVICES, "ResourceSlice"): slices.check_slice,
}
"""Rules by group and kind."""
EXTENSION_PARTS: Final[Mapping[tuple[str, str, str], PartRule]] = {
    ("apiregistration.k8s.io", "APIService", "status"): aggregation.check_api_service_status,
    (_FLOW, "FlowSchema", "status"): aggregation.check_flow_status,
    (_FLOW, "PriorityLevelConfiguration", "status"): aggregation.check_flow_status,
    (_DEVICES, "ResourceClaim", "status"): devices.check_claim_status,
    (_CERTIFICATES, "CertificateSigningRequest", "status"): aggregation.check_signing_status,
    (_CERTIFICATES, "CertificateSigningRequest", "approval"): aggregation.check_approval,
}
"""Rules by group, kind and subresource."""
