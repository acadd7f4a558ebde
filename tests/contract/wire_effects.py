"""Effects of daemons, in a form in which recorded and own writes can be compared.

What each write changed, object by object, in the order in which it was first done. Times, uids,
names among equals, words for people and repeats are no part of it.
"""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stretto.api.types.handover_annotations import (
    ASSUMED_NODE,
    FAILED,
    HANDLED,
    INDEX,
    NOMINATED_NODE,
    OWNER,
    POD_STATE,
    SELECTED,
    TRIED,
)

Json = Mapping[str, Any]
Effect = tuple[str, ...]
"""Effect of one write, in a form that can be compared."""
Effects = dict[str, list[Effect]]
"""Effects on each object, each one once, in the order of their first occurrence."""


class Scenario(NamedTuple):
    """One recorded scenario."""

    name: str
    title: str
    config: Json
    objects: Sequence[Json]
    steps: Sequence[Json]


def scenarios(path: Path) -> list[Scenario]:
    """All scenarios of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [Scenario(s["id"], s["title"], s["config"], s["objects"], s["steps"]) for s in found]


def note(effects: Effects, found: Iterable[Effect], plural: str, name: str) -> None:
    """Add what a write did, once; of phases the last counts."""
    key = plural if plural == "reservations" else f"{plural}/{name}"
    mine = effects.setdefault(key, [])
    for each in found:
        if each[0] == "phase":
            mine[:] = [other for other in mine if other[0] != "phase"]
        if each not in mine:
            mine.append(each)


def effect_of(verb: str, plural: str, body: Json, waiting: set[str], name: str) -> Iterator[Effect]:
    """Effect of a write."""
    if verb != "patch":
        yield (verb,)
        return
    status = body.get("status") or {}
    for each in status.get("conditions") or () if plural == "pods" else ():
        waits = each["type"] == "PodScheduled" and each.get("status", "False") == "False"
        if waits and name not in waiting:
            waiting.add(name)
            yield ("waits",)
    notes = (body.get("metadata") or {}).get("annotations") or {}
    if notes.get(POD_STATE) == "pending":
        yield ("back to the dispatcher",)  # reports of earlier attempts may be repeated
        return
    for key in (INDEX, TRIED):  # values among equals, and said once
        if key in notes:
            yield (key.rpartition("/")[2],)
    said = [key for key in notes if key not in (INDEX, TRIED)]
    words = tuple(sorted(f"{key.rpartition('/')[2]}={_word(key, notes[key])}" for key in said))
    if words:
        yield words
    if plural == "schedulers" and status:
        yield ("beats",)
    if plural == "podgroups" and status.get("conditions"):
        yield ("phase", status["conditions"][-1]["phase"])


def _word(key: str, text: str | None) -> str:
    """A value, where it is not one among equals."""
    if text is None:
        return "-"
    if key in (ASSUMED_NODE, NOMINATED_NODE, SELECTED, FAILED, HANDLED, OWNER):
        return "*"
    return text


def recorded(scenario: Scenario, role: str) -> Effects:
    """Effects of the recorded daemon."""
    effects: Effects = {}
    waiting: set[str] = set()
    shadow: dict[str, dict[str, str]] = {}
    for step in scenario.steps:
        if step.get("code", 200) >= 400 or step["resource"] in ("events", "leases"):
            continue
        body = step.get("body") or {}
        plural, name, sub = step["resource"], step["name"], step.get("subresource", "")
        notes = shadow.setdefault(f"{plural}/{name}", {})
        verb, change = step["verb"], body
        if sub == "binding":
            verb = "bind"
        elif verb == "update":
            verb, change = "patch", _difference(notes, body, sub)
        elif verb == "create":
            notes.clear()
            notes.update((body.get("metadata") or {}).get("annotations") or {})
        if verb == "patch":
            for key, text in ((change.get("metadata") or {}).get("annotations") or {}).items():
                notes.pop(key, None)
                if text is not None:
                    notes[key] = text
        if step["actor"] in actors_of(role):
            found = list(effect_of(verb, plural, change, waiting, name))
            note(effects, found, plural, name)
        elif plural == "pods" and verb == "patch":
            list(effect_of(verb, plural, change, waiting, name))
    return {key: found for key, found in effects.items() if found}


def actors_of(role: str) -> tuple[str, ...]:
    """Recorded actors that a role replaces: our binder does the work of two of them."""
    return ("binder", "controller") if role == "binder" else (role,)


def _difference(notes: Mapping[str, str], body: Json, sub: str) -> Json:
    """A whole object as the change that it makes."""
    if sub:
        return {"status": body.get("status")}
    after = (body.get("metadata") or {}).get("annotations") or {}
    change: dict[str, Any] = {k: v for k, v in after.items() if notes.get(k) != v}
    change.update({key: None for key in notes if key not in after})
    return {"metadata": {"annotations": change}}


def comparable(effects: Effects, scenario: Scenario, role: str) -> list[Any]:
    """Effects in a form in which equal ones are equal.

    Which of two shards gets a pod is a choice among equals; so a dispatcher's pods are compared
    without their names where there are two.
    """
    by_name = role != "dispatcher" or "scheduler-b" not in scenario.config
    return sorted(
        (key if by_name or not key.startswith("pods/") else "pods", *map(repr, sorted(found)))
        for key, found in effects.items()
    )
