"""Configurations of server-side apply: decoding, and the merge into the object and its managers."""

from dataclasses import dataclass, replace
from typing import Any, Final

from stretto.api.edit.apply.conflicts import conflict_text
from stretto.api.edit.apply.managers import (
    ManagerKey,
    Managers,
    OwnershipError,
    VersionError,
    WriteFrame,
    managed_apply,
    managed_update,
    managers_of,
)
from stretto.api.edit.apply.walking import ApplyError, check_typed
from stretto.api.schema.golang import json_type
from stretto.api.schema.types import ValueType
from stretto.api.wire.kinds import Kind
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError, bad_request, internal
from stretto.web.api.objects import json_text
from stretto.web.api.objects.reading import YAML_CONVERSION, parse_body, strict_warnings
from stretto.web.api.patching.media import APPLY_PATCH

Json = dict[str, Any]

_BEFORE: Final = "before-first-apply"
"""Manager of an object's fields before its first apply, if the object has no managers."""


@dataclass(frozen=True)
class AppliedConfig:
    """Body of an apply."""

    #: The configuration.
    item: Json
    #: The kind of its object.
    kind: Kind
    #: Messages of strict decoding about its duplicate keys.
    problems: list[str]

    @property
    def metadata(self) -> Json:
        """The metadata if they are a map; decoding by the kind refuses others later."""
        found = self.item.get("metadata")
        return found if isinstance(found, dict) else {}


def read_config(call: Call, kind: Kind) -> AppliedConfig:
    """Decode the applied configuration of an object of a kind.

    Raises:
        ApiError: it is malformed, or an object of another kind.
    """
    value, problems = parse_body(
        call.request.body, APPLY_PATCH, "", json_text.most_values(kind.kind)
    )
    value = {} if value is None else value
    if not isinstance(value, dict):
        raise bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
            f"unmarshal {json_type(value)} into Go value of type map[string]interface {{}}"
        )
    stated, version = _text(value, "kind"), _text(value, "apiVersion")
    if (stated, version) != (kind.kind, kind.api_version):
        shown = version if "/" in version else f"/{version}"
        raise bad_request(f"invalid object type: {shown}, Kind={stated}")
    config = AppliedConfig(value, kind, problems)
    if config.metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    return config


def _text(value: Json, name: str) -> str:
    """Return a member if it is a text; otherwise the empty text, as kube-apiserver does."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def heed_repeated(call: Call, config: AppliedConfig) -> None:
    """Warn about duplicate keys, or refuse them."""
    problems = [f"{YAML_CONVERSION}{each}" for each in config.problems]
    if problems and call.options.validation == "Strict":
        raise bad_request(f"error strict decoding YAML: {problems[0]}")
    if call.options.validation == "Warn":
        call.warnings.extend(strict_warnings(problems))


def merged(
    call: Call, config: AppliedConfig, states: tuple[Json, Json], frame: WriteFrame
) -> tuple[Json, Managers]:
    """Return an object with an applied configuration, and its managers.

    Args:
        call: the request.
        config: the configuration.
        states: the empty object of the kind and the object itself.
        frame: the write.

    Raises:
        ApiError: the configuration does not match the schema, or conflicts with other managers.
    """
    empty, live = states
    managers = managers_of(live)
    if not managers and live["metadata"].get("uid"):
        key = ManagerKey(_BEFORE, "Update", config.kind.api_version, call.route.subresource)
        start = replace(frame, key=key)
        managers = _start(config, (empty, live), start)
    try:
        force = bool(call.options.force)
        return managed_apply(live, config.item, managers, frame, force=force)
    except VersionError as error:
        raise internal(str(error)) from error
    except ApplyError as error:
        raise _untyped(config, error) from error
    except OwnershipError as error:
        text, causes = conflict_text(error)
        raise ApiError(409, "Conflict", text, {"causes": causes}) from error


def _start(config: AppliedConfig, states: tuple[Json, Json], frame: WriteFrame) -> Managers:
    """Return the manager of the existing fields of an object without managers.

    Raises:
        ApiError: the object does not match the schema.
    """
    try:
        return managed_update(*states, {}, frame)
    except ApplyError as error:
        head = "failed to create manager for existing fields: failed to convert new object"
        why = _problem(states[1], frame.kind) or str(error)
        raise internal(f"{head} ({_shown(config.kind, states[1])}) to smd typed: {why}") from error


def _problem(item: Json, kind: ValueType) -> str:
    """Return why an object does not match its schema, with the path; empty if it does."""
    try:
        check_typed(item, kind)
    except ApplyError as error:
        return str(error)
    return ""


def _untyped(config: AppliedConfig, error: ApplyError) -> ApiError:
    return internal(
        f"failed to create typed patch object ({_shown(config.kind, config.item)}): {error}"
    )


def _shown(kind: Kind, item: Json) -> str:
    """Return the place and the kind of an object as in messages."""
    metadata = item.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    version = kind.api_version if kind.group else f"/{kind.version}"
    place = f"{_text(names, 'namespace')}/{_text(names, 'name')}"
    return f"{place}; {version}, Kind={kind.kind}"
