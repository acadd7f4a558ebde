"""Changes of the template of a Job: once it has started, the template is immutable.

Before the start and while no pod of a suspended Job is active, an update may change the scheduling
directives and the resources of the template.
"""

from typing import Any, Final

from stretto.api.checks.fields.errors import Errors, immutable
from stretto.api.checks.kinds.values import Json
from stretto.api.schema.internals import internal_form

_PATH: Final = "spec.template"
_DIRECTIVES: Final = ("nodeSelector", "tolerations", "schedulingGates")


def check_template_change(spec: Json, old: Json) -> Errors:
    """Check the template of a changed Job.

    Args:
        spec: the spec of the changed Job.
        old: the stored Job.
    """
    new = spec.get("template") or {}
    before = (old.get("spec") or {}).get("template") or {}
    if not _is_mutable(old):
        is_same = new == before
        return [] if is_same else [immutable(_PATH, internal_form("core.PodTemplateSpec", new))]
    pod, kept = new.get("spec") or {}, _with_directives(before.get("spec") or {}, new)
    if _present(pod) == _present(kept):
        return []
    return [immutable(f"{_PATH}.spec", internal_form("core.PodSpec", pod))]


def _is_mutable(job: Json) -> bool:
    spec, status = job.get("spec") or {}, job.get("status") or {}
    is_stopped = any(
        each.get("type") == "Suspended" and each.get("status") == "True"
        for each in status.get("conditions") or ()
    )
    is_idle = not status.get("active") and (is_stopped or not status.get("startTime"))
    return bool(spec.get("suspend")) and is_idle


def _with_directives(pod: Json, template: Json) -> Json:
    """Return the old spec of pods with what the new template may change."""
    new = template.get("spec") or {}
    kept = {**pod, **{name: new.get(name) for name in _DIRECTIVES}}
    kept["affinity"] = _affinity(pod.get("affinity"), new.get("affinity"))
    for word in ("containers", "initContainers"):
        olds, news = pod.get(word) or [], new.get(word) or []
        if len(olds) == len(news):
            kept[word] = [_resized(*pair) for pair in zip(olds, news, strict=True)]
    return kept


def _affinity(old: Json | None, new: Json | None) -> Json | None:
    """Return the old affinity with the new one to nodes."""
    if new is None and old is None:
        return None
    kept = {**(old or {}), "nodeAffinity": (new or {}).get("nodeAffinity")}
    return (_present(kept) or None) if new is None else kept


def _resized(old: Json, new: Json) -> Json:
    is_same = old.get("name") == new.get("name")
    return {**old, "resources": new.get("resources")} if is_same else old


def _present(value: Any) -> Any:
    """Return a value without absent members and empty lists."""
    if isinstance(value, list):
        return [_present(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: _present(each) for name, each in value.items() if each is not None and each != []}
