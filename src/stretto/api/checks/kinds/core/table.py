"""The rules of the core group, except pods and their controllers."""

from collections.abc import Mapping
from typing import Final

from stretto.api.checks.fields.shapes import KindRule, PartRule
from stretto.api.checks.kinds.core import (
    balancers,
    bounds,
    config,
    events,
    nodes,
    services,
    volumes,
)

CORE_RULES: Final[Mapping[tuple[str, str], KindRule]] = {
    ("", "ConfigMap"): config.check_config_map,
    ("", "Secret"): config.check_secret,
    ("", "Service"): services.check_service,
    ("", "Endpoints"): services.check_endpoints,
    ("", "Event"): events.check_event,
    ("", "Node"): nodes.check_node,
    ("", "Namespace"): nodes.check_namespace,
    ("", "PersistentVolume"): volumes.check_volume,
    ("", "PersistentVolumeClaim"): volumes.check_claim,
    ("", "LimitRange"): bounds.check_limit_range,
    ("", "ResourceQuota"): bounds.check_quota,
    ("events.k8s.io", "Event"): events.check_new_event,
}
"""Rules by group and kind."""
CORE_PARTS: Final[Mapping[tuple[str, str, str], PartRule]] = {
    ("", "Namespace", "finalize"): nodes.check_finalize,
    ("", "Namespace", "status"): nodes.check_namespace_status,
    ("", "Node", "status"): nodes.check_node_status,
    ("", "Service", "status"): balancers.check_service_status,
    ("", "PersistentVolumeClaim", "status"): volumes.check_claim_status,
    ("", "ResourceQuota", "status"): bounds.check_quota_status,
}
"""Rules by group, kind and subresource."""
