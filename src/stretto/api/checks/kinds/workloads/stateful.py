"""Rules of StatefulSets, ControllerRevisions and PodTemplates."""

from typing import Final

from stretto.api.checks.fields.errors import Errors, forbidden, immutable, invalid, required
from stretto.api.checks.fields.shapes import choice
from stretto.api.checks.fields.texts import dns_label
from stretto.api.checks.kinds.pods.claims import check_claim_spec
from stretto.api.checks.kinds.values import Json, not_negative
from stretto.api.checks.kinds.workloads.templates import (
    TEMPLATE,
    check_always,
    check_controlled,
    check_marks,
    check_selected,
    check_template,
)
from stretto.api.schema.internals import internal_form

_KIND: Final = "StatefulSet"
_FIXED: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
    "'minReadySeconds' are forbidden"
)
_FREE: Final = frozenset(
    {
        "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
    }
)  # fmt: skip
_RETENTION: Final = choice("Retain", "Delete")


def check_stateful_set(item: Json, old: Json | None) -> Errors:
    """Check a StatefulSet."""
    spec = item.get("spec") or {}
    found: Errors = []
    if old is not None:
        before = {key: each for key, each in old["spec"].items() if key not in _FREE}
        after = {key: each for key, each in spec.items() if key not in _FREE}
        changed = [forbidden("spec", _FIXED)] if before != after else []
    else:
        changed = []
    policy = spec.get("podManagementPolicy")
    if not policy:
        found.append(required("spec.podManagementPolicy"))
    elif policy not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        found.append(invalid("spec.podManagementPolicy", policy, text))
    found += _strategy(spec.get("updateStrategy") or {})
    found += _retention(spec.get("persistentVolumeClaimRetentionPolicy"))
    found += _claims(spec.get("volumeClaimTemplates") or []) if old is None else []
    found += not_negative(spec.get("replicas"), "spec.replicas")
    found += not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    ordinals = spec.get("ordinals")
    if ordinals is not None:
        found += not_negative(ordinals.get("start"), "spec.ordinals.start")
    if old is None and spec.get("serviceName"):
        path = "spec.serviceName"
        found += [
            invalid(path, spec["serviceName"], each) for each in dns_label(spec["serviceName"])
        ]
    found += check_selected(spec, "statefulset")
    return found + check_controlled(spec, "", _template(spec)) + check_always(spec, _KIND) + changed


def _template(spec: Json) -> Errors:
    """Check the template, with the volumes of the claim templates."""
    template = spec.get("template") or {}
    inner, added = template.get("spec") or {}, _claim_volumes(spec)
    others = [each for each in inner.get("volumes") or () if each.get("name") not in added]
    whole = {**inner, "volumes": [*added.values(), *others]}
    found = check_template({**template, "spec": whole}, TEMPLATE)
    return found + check_marks(template.get("metadata") or {}, TEMPLATE)  # kube-apiserver repeats


def _strategy(strategy: Json) -> Errors:
    kind, path = strategy.get("type"), "spec.updateStrategy"
    rolling = strategy.get("rollingUpdate")
    if not kind:
        return [required(path)]
    if kind == "OnDelete":
        if rolling is None:
            return []
        detail = "only allowed for updateStrategy 'RollingUpdate'"
        shown = internal_form("apps.RollingUpdateStatefulSetStrategy", rolling)
        return [invalid(f"{path}.rollingUpdate", shown, detail)]
    if kind != "RollingUpdate":
        detail = "must be 'RollingUpdate' or 'OnDelete'"
        return [invalid(path, internal_form("apps.StatefulSetUpdateStrategy", strategy), detail)]
    return not_negative((rolling or {}).get("partition"), f"{path}.rollingUpdate.partition")


def _retention(policy: Json | None) -> Errors:
    if policy is None:
        return []
    path = "spec.persistentVolumeClaimRetentionPolicy"
    return [
        error
        for name in ("whenDeleted", "whenScaled")
        for error in _RETENTION(policy.get(name), f"{path}.{name}")
    ]


def _claims(claims: list[Json]) -> Errors:
    found: Errors = []
    for index, claim in enumerate(claims):
        found += check_claim_spec(
            claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}].spec"
        )
    return found


def _claim_volumes(spec: Json) -> dict[str, Json]:
    """The pod volumes that result from claim templates, by name."""
    claims = spec.get("volumeClaimTemplates") or ()
    names = [(each.get("metadata") or {}).get("name", "") for each in claims]
    return {name: {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names}


def check_revision(item: Json, old: Json | None) -> Errors:
    """Check a ControllerRevision; its data is immutable."""
    found: Errors = []
    found += not_negative(item.get("revision"), "revision")
    if old is None and item.get("data") is None:
        found.append(required("data", "data is mandatory"))
    elif old is None and not isinstance(item["data"], dict):
        found.append(required("data", "data must be a valid JSON object"))
    if old is not None and item.get("data") != old.get("data"):
        found.append(immutable("data", item.get("data")))
    return found


def check_pod_template(item: Json, _old: Json | None) -> Errors:
    """Check a PodTemplate."""
    return check_template(item.get("template") or {}, "template")
