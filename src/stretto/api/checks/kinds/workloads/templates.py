"""Rules of pod templates and of the selectors that select their pods."""

from typing import Any, Final

from stretto.api.checks.fields.errors import Errors, forbidden, invalid, required, unsupported
from stretto.api.checks.fields.metadata import check_plain_metadata
from stretto.api.checks.fields.shapes import moved
from stretto.api.checks.kinds.pods.pod import check_pod_spec
from stretto.api.checks.kinds.values import Json, check_selector, selects

TEMPLATE: Final = "spec.template"
"""Path of the template in most kinds."""
NO_MATCH: Final = "`selector` does not match template `labels`"
"""Reason for refusing a template."""


def check_template(template: Json, path: str, volumes: frozenset[str] = frozenset()) -> Errors:
    """Check the metadata and the spec of a template.

    Args:
        template: the template.
        path: its path.
        volumes: names of volumes that a controller adds.
    """
    spec = template.get("spec") or {}
    errors = check_plain_metadata(template.get("metadata") or {})
    found = [moved(each, f"{path}.") for each in errors]
    found += check_pod_spec(spec, f"{path}.spec", volumes)
    if spec.get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        found.append(forbidden(f"{path}.spec.ephemeralContainers", detail))
    return found


def check_restarting(spec: Json, volumes: frozenset[str] = frozenset()) -> Errors:
    """Check the template of a kind whose pods always restart."""
    template = spec.get("template") or {}
    inner = template.get("spec") or {}
    found = check_template(template, TEMPLATE, volumes)
    policy = inner.get("restartPolicy")
    if policy in ("Never", "OnFailure"):
        found.append(unsupported(f"{TEMPLATE}.spec.restartPolicy", policy, ("Always",)))
    if inner.get("activeDeadlineSeconds") is not None:
        detail = "activeDeadlineSeconds in {} is not Supported"
        where = f"{TEMPLATE}.spec.activeDeadlineSeconds"
        found.append(forbidden(where, detail.format("ReplicaSet")))
    return found


def check_selected(spec: Json, word: str) -> Errors:
    """Check the selector of a workload and the labels of its template."""
    selector = spec.get("selector")
    found: Errors = []
    if selector is None:
        found.append(required("spec.selector"))
    else:
        found += check_selector(selector, "spec.selector")
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            found.append(invalid("spec.selector", {}, f"empty selector is invalid for {word}"))
            return found
    labels = template_labels(spec)
    if selector is None or not selects(selector, labels):
        found.append(invalid(f"{TEMPLATE}.metadata.labels", labels or None, NO_MATCH))
    return found


def template_labels(spec: Json) -> dict[str, Any]:
    """The labels of the template of a workload."""
    return ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
