"""Tokens of a ServiceAccount."""

from typing import Any, Final

from stretto.api.schema.kubernetes import struct
from stretto.api.wire.kinds import Kind
from stretto.web.api import failures
from stretto.web.api.authn.accounts import ISSUER, TokenSubject
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError, bad_request
from stretto.web.api.message import ApiResponse
from stretto.web.api.negotiation import encoded
from stretto.web.api.objects.ownership import owned_elsewhere
from stretto.web.api.state import ApiState
from stretto.web.api.storage import StoredItem
from stretto.web.api.subresources.typed import read_typed
from stretto.web.api.verbs.answers import accept

Json = dict[str, Any]

_KIND: Final = Kind("authentication.k8s.io", "v1", "TokenRequest", "tokenrequests")
_STRUCT: Final = "authentication/v1.TokenRequest"
_SECONDS: Final = 3600
_SHORTEST: Final = 600
_LONGEST: Final = 1 << 32
_BOUND: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


def token(state: ApiState, call: Call) -> ApiResponse:
    """Issue a token."""
    item = read_typed(call, _KIND, struct(_STRUCT))
    metadata = item.get("metadata") or {}
    _check_place(call, metadata)
    spec = item.setdefault("spec", {})
    account = state.storage.get(call.resource, call.route.namespace, call.route.name)
    if metadata.get("uid", account.record.uid) not in ("", account.record.uid):
        text = (
            f"the UID in the token request ({metadata['uid']}) does not match the UID of the "
            f"service account ({account.record.uid})"
        )
        raise failures.conflict(_KIND.group, _KIND.kind, call.route.name, text)
    seconds = _seconds(spec)
    spec["expirationSeconds"] = seconds
    managers = owned_elsewhere(state, call, _KIND, item)
    audiences = spec.get("audiences") or [ISSUER]
    record = account.record
    subject = TokenSubject(
        record.namespace, record.name, record.uid, audiences, _bound(state, call, spec)
    )
    made = state.accounts.issued(subject, state.clock.now(), seconds, state.rng.uid())
    answer = {
        "kind": _KIND.kind,
        "apiVersion": _KIND.api_version,
        "metadata": {**metadata, **_identity(state, account), "managedFields": managers},
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": spec.get("boundObjectRef"),
        },
        "status": {"token": made, "expirationTimestamp": state.later(seconds)},
    }
    return encoded(answer, accept(call), 201, call.warnings)


def _check_place(call: Call, metadata: Json) -> None:
    """Refuse a request with the name or the namespace of another account."""
    if metadata.get("namespace", "") not in ("", call.route.namespace):
        raise failures.other_namespace()
    stated = metadata.get("name", "")
    if stated not in ("", call.route.name):
        text = "must match the service account name if specified"
        shown = f'Invalid value: "{stated}": {text}'
        raise _invalid(call.route.name, shown, "metadata.name")


def _identity(state: ApiState, account: StoredItem) -> Json:
    record = account.record
    return {
        "name": record.name,
        "namespace": record.namespace,
        "uid": record.uid,
        "creationTimestamp": state.now,
    }


def _seconds(spec: Json) -> int:
    found = spec.get("expirationSeconds")
    seconds = _SECONDS if found is None else int(found)
    text = ""
    if seconds < _SHORTEST:
        text = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST:
        text = "may not specify a duration larger than 2^32 seconds"
    if text:
        raise _invalid("", f"Invalid value: {seconds}: {text}", "spec.expirationSeconds")
    return seconds


def _invalid(name: str, text: str, field: str) -> ApiError:
    return failures.invalid(_KIND, name, [("FieldValueInvalid", text, field)])


def _bound(state: ApiState, call: Call, spec: Json) -> Json:
    """Return the claim of the object to which the token is bound.

    Raises:
        ApiError: the object does not exist, or the token cannot be bound to it.
    """
    wanted = spec.get("boundObjectRef")
    if wanted is None:
        return {}
    kind, version, name = (wanted.get(key, "") for key in ("kind", "apiVersion", "name"))
    plural = _BOUND.get(kind)
    resource = None if plural is None else state.resources.find("", "v1", plural)
    group, _, last = version.rpartition("/")
    if resource is None or group:
        raise bad_request(f"cannot bind token to object of type {group}/{last}, Kind={kind}")
    if not name:
        raise bad_request("Name parameter required.")
    namespace = call.route.namespace if resource.kind.namespaced else ""
    found = state.storage.get(resource, namespace, name)
    if wanted.get("uid") and wanted["uid"] != found.record.uid:
        text = (
            f"the UID in the bound object reference ({wanted['uid']}) does not match the UID in "
            f"record. The object might have been deleted and then recreated"
        )
        raise failures.conflict("", kind, name, text)
    runs_as = (found.item.get("spec") or {}).get("serviceAccountName", "")
    if kind == "Pod" and runs_as != call.route.name:
        text = (
            f'cannot bind token for serviceaccount "{call.route.name}" to pod running with '
            "different serviceaccount name."
        )
        raise bad_request(text)
    return {kind.lower(): {"name": name, "uid": found.record.uid}}
