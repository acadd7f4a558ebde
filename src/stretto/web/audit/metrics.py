"""Metrics of the audit log, under the names of kube-apiserver."""

from typing import Final

from prometheus_client import Counter

EVENTS: Final = Counter("apiserver_audit_event", "Audit events that were written or lost.")
"""Audit events."""
ERRORS: Final = Counter(
    "apiserver_audit_error", "Audit events that could not be written.", ["plugin"]
)
"""Audit events that are lost."""
PLUGIN: Final = "log"
"""Label of the log backend among the audit plugins of kube-apiserver."""
