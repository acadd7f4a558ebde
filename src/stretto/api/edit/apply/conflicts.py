"""Messages about applies that would change fields of other managers."""

from typing import Any

import msgspec

from stretto.api.edit.apply import fieldset
from stretto.api.edit.apply.managers import ManagerKey, OwnershipError

Json = dict[str, Any]


def conflict_text(error: OwnershipError) -> tuple[str, list[Json]]:
    """Return the message and the causes of a conflict."""
    causes: list[Json] = []
    by_owner: dict[str, list[str]] = {}
    owners: dict[int, str] = {}
    for entry, path in error.conflicts:
        owner = owners.get(id(entry)) or owners.setdefault(id(entry), _owner_text(entry.key))
        text, message = fieldset.path_text(path), f"conflict with {owner}"
        by_owner.setdefault(owner, []).append(text)
        causes.append({"reason": "FieldManagerConflict", "message": message, "field": text})
    count = len(error.conflicts)
    head = f"Apply failed with {count} conflict{'s' if count > 1 else ''}: "
    parts = []
    for owner in sorted(by_owner):
        fields = by_owner[owner]
        if len(fields) == 1 and count == 1:
            parts.append(f"conflict with {owner}: {fields[0]}")
        else:
            listed = "".join(f"\n- {each}" for each in fields)
            parts.append(f"conflicts with {owner}:{listed}")
    return head + "\n".join(parts), causes


def _owner_text(key: ManagerKey) -> str:
    text = msgspec.json.encode(key.manager).decode()
    if key.subresource:
        text += f" with subresource {msgspec.json.encode(key.subresource).decode()}"
    if key.operation == "Update":
        text += f" using {key.api_version}"
    return text
