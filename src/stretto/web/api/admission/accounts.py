"""Admission of the ServiceAccounts of pods: their default, their token, their secrets."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.wire.kinds import POD, SERVICE_ACCOUNT
from stretto.web.api import failures
from stretto.web.api.state import AdmittedWrite, ApiState

Json = dict[str, Any]

_MIRROR: Final = "kubernetes.io/config.mirror"
_ENFORCES: Final = "kubernetes.io/enforce-mountable-secrets"
_PLACE: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_PREFIX: Final = "kube-api-access-"
_LIFETIME: Final = 3607
_MODE: Final = 0o644


def admit_account(state: ApiState, admission: AdmittedWrite) -> None:
    """Set the ServiceAccount of a new pod, or refuse the pod."""
    item = admission.item
    is_new = admission.operation == "CREATE" and not admission.subresource
    if admission.resource.stored != POD or not is_new or item is None:
        return
    spec = item["spec"]
    if _MIRROR in (item["metadata"].get("annotations") or {}):
        reason = _mirror_refusal(spec)
        if reason:
            raise _refused(item, reason)
        return
    name = spec.get("serviceAccountName") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    space = admission.call.route.namespace
    found = state.storage.find(SERVICE_ACCOUNT, space, name)
    if found is None:
        missing = f'serviceaccount "{name}" not found'
        raise _refused(item, f"error looking up service account {space}/{name}: {missing}")
    account = found.item
    if _mounts(spec, account):
        _mount(state, admission, spec)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(each) for each in account["imagePullSecrets"]]
    if (account["metadata"].get("annotations") or {}).get(_ENFORCES) == "true":
        for reason in _foreign_secrets(spec, account):
            raise _refused(item, reason)


def _refused(item: Json, reason: str) -> failures.ApiError:
    return failures.forbidden("", "pods", item["metadata"].get("name", ""), reason)


def _mirror_refusal(spec: Json) -> str:
    """Return why a mirror pod is refused; it must not reference API objects."""
    if spec.get("serviceAccountName"):
        return "a mirror pod may not reference service accounts"
    volumes = spec.get("volumes") or ()
    if any(each.get("secret") for each in volumes) or any(_secrets_of_containers(spec)):
        return "a mirror pod may not reference secrets"
    for each in volumes:
        sources = (each.get("projected") or {}).get("sources") or ()
        if any(source.get("serviceAccountToken") for source in sources):
            return "a mirror pod may not use ServiceAccountToken volume projections"
    return ""


def _mounts(spec: Json, account: Json) -> bool:
    """Return whether containers get the token; the pod's setting overrides its account's."""
    for each in (spec, account):
        stated = each.get("automountServiceAccountToken")
        if stated is not None:
            return bool(stated)
    return True


def _mount(state: ApiState, admission: AdmittedWrite, spec: Json) -> None:
    """Mount the token in containers that mount nothing else at its path."""
    containers = [
        each
        for each in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
        if all(mount.get("mountPath") != _PLACE for mount in each.get("volumeMounts") or ())
    ]
    if not containers:
        return
    volumes = spec.get("volumes") or []
    names = [each["name"] for each in volumes if each.get("name", "").startswith(_PREFIX)]
    draw = admission.call.request.memory.draw
    name = names[0] if names else draw("volume", lambda: _PREFIX + state.drawn_suffix())
    if not names:
        spec["volumes"] = [*volumes, {"name": name, "projected": _projection()}]
    for each in containers:
        mount = {"name": name, "readOnly": True, "mountPath": _PLACE}
        each["volumeMounts"] = [*(each.get("volumeMounts") or ()), mount]


def _projection() -> Json:
    certificate = {"key": "ca.crt", "path": "ca.crt"}
    reference = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _LIFETIME, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [certificate]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": reference}]}},
        ],
        "defaultMode": _MODE,
    }


def _secrets_of_containers(spec: Json) -> Iterator[tuple[str, str, str, str]]:
    """Yield word and name of each container, its variable, and the secret that it references."""
    lists = (("init container", "initContainers"), ("container", "containers"))
    for word, key in lists:
        for each in spec.get(key) or ():
            for variable in each.get("env") or ():
                reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
                if reference:
                    name = reference.get("name", "")
                    yield word, each.get("name", ""), variable.get("name", ""), name


def _foreign_secrets(spec: Json, account: Json) -> Iterator[str]:
    """Yield why a pod is refused whose account may mount only its own secrets."""
    title = account["metadata"]["name"]
    known = {each.get("name") for each in account.get("secrets") or ()}
    pulls = {each.get("name") for each in account.get("imagePullSecrets") or ()}
    rest = f"is not allowed because service account {title} does not reference that"
    for volume in spec.get("volumes") or ():
        name = (volume.get("secret") or {}).get("secretName")
        if name and name not in known:
            yield f'volume with secret.secretName="{name}" {rest} secret'
    for word, container, variable, name in _secrets_of_containers(spec):
        if name not in known:
            place = f"{word} {container} with envVar {variable} referencing"
            yield f'{place} secret.secretName="{name}" {rest} secret'
    for index, each in enumerate(spec.get("imagePullSecrets") or ()):
        if each.get("name") not in pulls:
            yield f'imagePullSecrets[{index}].name="{each.get("name")}" {rest} imagePullSecret'
