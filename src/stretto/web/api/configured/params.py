"""The parameters of a policy: the objects that a binding references."""

from typing import Any

from stretto.api.wire.kinds import Kind
from stretto.web.api.configured.attributes import WriteAttributes
from stretto.web.api.configured.matching import selects
from stretto.web.api.crds.objects import shown_custom
from stretto.web.api.resources import ServedResource
from stretto.web.api.state import ApiState

Json = dict[str, Any]


class ParamsError(Exception):
    """The parameters of a policy or a binding cannot be found; the message is that of a refusal."""


def params_of(
    state: ApiState, attributes: WriteAttributes, policy: Json, binding: Json
) -> list[Json | None]:
    """Return the parameters with which a policy is evaluated, one after the other.

    ``None`` stands for a policy without parameters; if the list is empty, the binding is skipped.

    Raises:
        ParamsError: the parameters cannot be found.
    """
    kind, ref = policy.get("paramKind"), binding.get("paramRef")
    if not kind or not ref:
        return [None]
    resource = _resource(state, kind)
    namespace = ref.get("namespace", "")
    if resource.kind.namespaced and not namespace:
        namespace = attributes.namespace
        if not namespace:
            raise ParamsError(
                "failed to configure binding: cannot use namespaced paramRef in policy binding "
                "that matches cluster-scoped resources"
            )
    elif not resource.kind.namespaced and namespace:
        raise ParamsError(
            "failed to configure binding: paramRef.namespace must not be provided for a "
            "cluster-scoped `paramKind`"
        )
    found = _found(state, resource, ref, namespace)
    if not found and ref.get("parameterNotFoundAction") == "Deny":
        raise ParamsError(
            "failed to configure binding: no params found for policy binding with `Deny` "
            "parameterNotFoundAction"
        )
    if resource.definition is not None:
        found = shown_custom(found, resource, attributes.admission.call.request.memory)
    return list(found)


def _resource(state: ApiState, kind: Json) -> ServedResource:
    group, _, version = str(kind.get("apiVersion", "")).rpartition("/")
    found = state.resources.of_kind(group, version, str(kind.get("kind", "")))
    if found is None:
        shown = f"{group}/{version}, Kind={kind.get('kind', '')}"
        raise ParamsError(
            "failed to configure policy: failed to find resource referenced by paramKind: "
            f"'{shown}'"
        )
    return found


def _found(state: ApiState, resource: ServedResource, ref: Json, namespace: str) -> list[Json]:
    stored: Kind = resource.stored
    if ref.get("name"):
        one = state.storage.find(stored, namespace, ref["name"])
        items = [] if one is None else [one.item]
    else:
        items = [
            each
            for each in state.storage.items(stored, namespace)
            if selects(ref.get("selector"), each["metadata"].get("labels") or {})
        ]
    return items
