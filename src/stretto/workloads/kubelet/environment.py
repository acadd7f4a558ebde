"""The environment of a simulated container: literal values and fields of its pod."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from stretto.reconcile.cache import Fields, StoredObject

_KEYED: Final = re.compile(r"metadata\.(labels|annotations)\['([^']*)'\]")
_REFERENCE: Final = re.compile(r"\$\((\w+)\)")
_MOST_CHARACTERS: Final = 131_072
"""Maximum length of a variable, as in Linux; references in references grow without end."""


def environment_of(pod: StoredObject, container: Fields) -> dict[str, str]:
    """The variables of a container; values from ConfigMaps, Secrets and amounts are empty."""
    found = {"HOSTNAME": str(pod.spec.get("hostname") or pod.record.name)}
    for each in container.get("env") or ():
        source = each.get("valueFrom")
        if source is None:
            found[each["name"]] = _replaced(str(each.get("value") or ""), found)
        else:
            found[each["name"]] = _field(pod, (source.get("fieldRef") or {}).get("fieldPath", ""))
    return found


def _replaced(text: str, known: Mapping[str, str]) -> str:
    """A value with references to earlier variables, ``$(NAME)``; empty if it is too long."""
    found = ""
    for part in _parts(text, known):
        found += part
        if len(found) > _MOST_CHARACTERS:
            return ""
    return found


def _parts(text: str, known: Mapping[str, str]) -> Iterator[str]:
    at = 0
    for found in _REFERENCE.finditer(text):
        yield text[at : found.start()]
        yield known.get(found[1], found[0])
        at = found.end()
    yield text[at:]


def _field(pod: StoredObject, path: str) -> str:
    keyed = _KEYED.fullmatch(path)
    if keyed is not None:
        return str((pod.metadata.get(keyed[1]) or {}).get(keyed[2], ""))
    values = {
        "metadata.name": pod.record.name,
        "metadata.namespace": pod.record.namespace,
        "metadata.uid": pod.record.uid,
        "spec.nodeName": pod.record.node,
        "spec.serviceAccountName": pod.spec.get("serviceAccountName"),
    }
    return str(values.get(path) or "")
