"""Rules of pod templates and of the selectors that select their pods."""

from typing import Any, Final

from stretto.api.checks.fields.errors import Errors, forbidden, invalid, required, unsupported
from stretto.api.checks.fields.texts import check_annotations, check_labels
from stretto.api.checks.kinds.pods.pod import check_pod_spec
from stretto.api.checks.kinds.values import Json, check_selector, selects

TEMPLATE: Final = "spec.template"
"""Path of the template in most kinds."""
NO_MATCH: Final = "`selector` does not match template `labels`"
"""Reason for refusing a template."""


def check_template(template: Json, path: str) -> Errors:
    """Check the metadata and the spec of a template."""
    spec = template.get("spec") or {}
    found = check_marks(template.get("metadata") or {}, path)
    found += check_pod_spec(spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        found.append(forbidden(f"{path}.spec.ephemeralContainers", detail))
    return found


def check_marks(metadata: Json, path: str) -> Errors:
    """Check the labels and annotations of a template; their paths do not contain ``metadata``."""
    found = check_labels(metadata.get("labels"), f"{path}.labels")
    return found + check_annotations(metadata.get("annotations"), f"{path}.annotations")


def check_restarting(spec: Json, kind: str = "ReplicaSet") -> Errors:
    """Check the template of a kind whose pods always restart; messages name the kind."""
    return check_template(spec.get("template") or {}, TEMPLATE) + check_always(spec, kind)


def check_always(spec: Json, kind: str) -> Errors:
    """Check that a template restarts its pods always and sets no deadline."""
    inner = (spec.get("template") or {}).get("spec") or {}
    policy, found = inner.get("restartPolicy"), Errors()
    if policy != "Always":
        found.append(unsupported(f"{TEMPLATE}.spec.restartPolicy", policy or "", ("Always",)))
    if inner.get("activeDeadlineSeconds") is not None:
        where = f"{TEMPLATE}.spec.activeDeadlineSeconds"
        found.append(forbidden(where, f"activeDeadlineSeconds in {kind} is not Supported"))
    return found


def check_selected(spec: Json, word: str) -> Errors:
    """Check the selector of a workload; it must not be empty.

    Args:
        spec: the spec of the workload.
        word: the kind that messages name.
    """
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")]
    found = check_selector(selector, "spec.selector")
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        found.append(invalid("spec.selector", selector, f"empty selector is invalid for {word}"))
    return found


def check_controlled(spec: Json, detail: str, template: Errors) -> Errors:
    """Check the selector of a controller; a malformed selector hides the errors of the template.

    Args:
        spec: the spec of the workload.
        detail: reason in the error about a malformed selector.
        template: the errors of the template.
    """
    selector = spec.get("selector")
    if check_selector(selector, ""):
        return [invalid("spec.selector", _ordered(selector or {}), detail)]
    is_empty = selector is not None and not any(selector.values())
    return template if is_empty else [*check_match(spec), *template]


def _ordered(selector: Json) -> Json:
    """Return a selector whose members have the order of Go's structs."""
    found: Json = {
        name: selector[name] for name in ("matchLabels", "matchExpressions") if name in selector
    }
    if found.get("matchExpressions"):
        found["matchExpressions"] = [
            {name: rule[name] for name in ("key", "operator", "values") if name in rule}
            for rule in found["matchExpressions"]
        ]
    return found


def check_match(spec: Json, path: str = "spec") -> Errors:
    """Check that the selector of a workload matches the labels of its template."""
    selector, labels = spec.get("selector"), template_labels(spec)
    if selector is not None and selects(selector, labels or {}):
        return []
    return [invalid(f"{path}.template.metadata.labels", labels, NO_MATCH)]


def template_labels(spec: Json) -> dict[str, Any] | None:
    """Return the sorted labels of the template of a workload; ``None`` if it has none."""
    found: dict[str, Any] | None
    found = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    return None if found is None else dict(sorted(found.items()))
