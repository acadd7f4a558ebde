"""Kind and version that a custom object states, in bodies and after patches."""

from typing import Any, Final

import msgspec

from stretto.api.schema.golang import json_type
from stretto.web.api import failures
from stretto.web.api.failures import ApiError, bad_request
from stretto.web.api.objects.reading import unrecognized
from stretto.web.api.patching.outcomes import PatchResult
from stretto.web.api.resources import ServedResource

Json = dict[str, Any]

_NULL_VERSION: Final = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
_NO_VERSION: Final = "Object 'apiVersion' is missing in 'object has no apiVersion field'"


def check_body(body: bytes, value: Json, resource: ServedResource) -> None:
    """Refuse a body without the kind or with another version.

    Raises:
        ApiError: the body states no kind, or no version of the path.
    """
    name = resource.kind.kind
    if not value.get("kind"):
        text = f"Object 'Kind' is missing in '{body.decode(errors='replace')}'"
        raise unrecognized(name, text, body)
    version = value.get("apiVersion", "")
    if version is None:
        text = f'{value["kind"]} in version "" cannot be handled as a {name}: {_NULL_VERSION}'
        raise bad_request(text)
    if problem := _malformed(version):
        raise unrecognized(name, problem, body)
    if not version:
        text = "the API version in the data () does not match the expected API version"
        raise bad_request(f"{text} ({resource.kind.api_version})")


def check_patched(result: PatchResult, resource: ServedResource) -> None:
    """Refuse a patched object without kind and version, or of another version.

    Raises:
        ApiError: the patch removes or changes the kind or the version.
    """
    item = result.item
    if not item.get("kind"):
        shown = msgspec.json.encode(item, order="sorted").decode()
        raise result.refusal(f"Object 'Kind' is missing in '{shown}'")
    version, metadata = item.get("apiVersion", ""), item.get("metadata")
    if version is None:
        raise result.refusal(_NULL_VERSION)
    if problem := _malformed(version):
        raise result.refusal(problem)
    if metadata is not None and not isinstance(metadata, dict):
        text = f"json: cannot unmarshal {json_type(metadata)} into Go value of type v1.ObjectMeta"
        raise result.refusal(text)
    group, _, last = str(version).rpartition("/")
    if not last and (metadata or {}).get("name"):
        raise failures.failed_internally(_NO_VERSION)
    if last and isinstance(version, str) and version != resource.kind.api_version:
        raise _other_version(item, group, resource)


def _other_version(item: Json, group: str, resource: ServedResource) -> ApiError:
    """422 about an object of another version; it names the kind and the group of the object."""
    expected, stated = resource.kind.api_version, str(item["apiVersion"]).removeprefix("/")
    text = f'Invalid value: "{stated}": must be {expected}'
    causes = [("FieldValueInvalid", text, "apiVersion")]
    if item["kind"] != resource.kind.kind:
        text = f'Invalid value: "{item["kind"]}": must be {resource.kind.kind}'
        causes.insert(0, ("FieldValueInvalid", text, "kind"))
    kind = msgspec.structs.replace(resource.kind, group=group, kind=item["kind"])
    return failures.invalid(kind, str((item.get("metadata") or {}).get("name", "")), causes)


def _malformed(version: Any) -> str:
    """Return why a version has too many parts; empty if it has not."""
    parts = version.count("/") if isinstance(version, str) else 0
    return f"unexpected GroupVersion string: {version}" if parts > 1 else ""
