"""Hostile definitions of custom kinds, and hostile objects of them."""

from typing import Any

from hostile_requests import (
    APPLY,
    DEFINITIONS,
    MANY,
    MERGE,
    WIDGETS,
    Case,
    Json,
    chain,
    definition,
    filled,
    nested,
    sent,
    texts,
    widget,
)


def custom(name: str, schema: Json, spec: Any) -> Case:
    """The creation of a widget."""
    before = (sent("POST", DEFINITIONS, definition(schema)),)
    return Case(name, sent("POST", WIDGETS, widget(spec)), before)


TEXT = {"type": "string", "maxLength": 64}
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def list_of(items: Json, **fields: Any) -> Json:
    """The schema of an object with a list."""
    inner = {"type": "array", "items": items, **fields}
    return {"type": "object", "properties": {"items": inner}}


ENTRY = {
    "type": "object",
    "properties": {"name": TEXT, "port": {"type": "integer"}},
    "required": ["name", "port"],
}
KEYED = list_of(
    ENTRY,
    **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"]},
)
SET = list_of(TEXT, **{"x-kubernetes-list-type": "set"})
EMBEDDED = list_of(
    {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
)
RULED = list_of(
    {**ENTRY, "x-kubernetes-validations": [{"rule": "self.port > 0 && self.name != ''"}]},
    maxItems=5000,
)
ENTRIES = filled(lambda number: {"name": f"n{number}", "port": 1}, 3)


def wide_schema(properties: int) -> Json:
    """The schema of an object with many fields."""
    return {"type": "object", "properties": {f"f{number}": TEXT for number in range(properties)}}


def ruled_schema(rules: int) -> Json:
    """The schema of an object with a rule for each of many fields."""
    field = {
        "type": "string",
        "maxLength": 8,
        "x-kubernetes-validations": [{"rule": "self != 'x'"}],
    }
    return {"type": "object", "properties": {f"f{number}": field for number in range(rules)}}


def definitions() -> list[Case]:
    """Definitions of custom kinds."""
    deep: Json = TEXT
    for _ in range(15):
        deep = {"type": "object", "properties": {"a": deep}}
    columns = filled(lambda n: {"name": f"c{n}", "type": "string", "jsonPath": f".spec.f{n}"}, 4)
    fields = filled(lambda n: {"jsonPath": f".spec.f{n}"}, 2)
    open_field = {"type": "object", "additionalProperties": {"type": "string"}}
    ruled = {
        **list_of(ENTRY, maxItems=100),
        "x-kubernetes-validations": [
            {"rule": "self.items.all(i, self.items.exists(j, j.name == i.name))"}
        ]
        * 500,
    }
    bodies: dict[str, Json] = {
        "definition: fields": definition(wide_schema(MANY // 3)),
        "definition: fields with maps": definition({
            "type": "object", "properties": {f"f{n}": open_field for n in range(MANY // 5)}}),
        "definition: rules": definition(ruled_schema(MANY // 6)),
        "definition: nested rules": definition(ruled),
        "definition: long rules": definition({**wide_schema(1), "x-kubernetes-validations": [
            {"rule": chain(["self.f0 != 'x'"] * 200, " && ")}] * 100}),
        "definition: rules of many types": definition({"type": "object", "properties": {
            f"f{n}": {**wide_schema(1), "x-kubernetes-validations": [
                {"rule": chain(["self.f0 != 'x'"] * 200, " && ")}]} for n in range(100)}}),
        "definition: different rules": definition({"type": "object", "properties": {
            f"f{n}": {**TEXT, "x-kubernetes-validations": [{"rule": f"self != '{n}'"}]}
            for n in range(499)}}),
        "definition: calculations": definition({**wide_schema(1), "x-kubernetes-validations": [
            {"rule": f"{n} < 1{' + 1' * 200}"} for n in range(30)]}),
        "definition: depth": definition(deep),
        "definition: enumeration": definition({"type": "string", "enum": filled(str)}),
        "definition: required": definition({"type": "object", "required": filled(str)}),
        "definition: patterns": definition({"type": "object", "properties": {
            f"f{n}": {"type": "string", "pattern": f"^(a{n}|b)+$"} for n in range(MANY // 4)}}),
        "definition: defaults": definition({"type": "object", "properties": {
            f"f{n}": {"type": "string", "default": "x"} for n in range(MANY // 4)}}),
        "definition: a large default": definition({
            "type": "object", "x-kubernetes-preserve-unknown-fields": True, "default": texts()}),
        "definition: any of": definition({
            "type": "object", "anyOf": filled(lambda n: {"required": [f"f{n}"]}, 3)}),
        "definition: columns": definition(wide_schema(1), additionalPrinterColumns=columns),
        "definition: selectable fields": definition(wide_schema(1), selectableFields=fields),
    }  # fmt: skip
    return [Case(name, sent("POST", DEFINITIONS, each)) for name, each in bodies.items()]


def customs() -> list[Case]:
    """Objects of custom kinds."""
    keyed = definition(KEYED)
    changed = [{**each, "port": 2} for each in ENTRIES]
    stored = (sent("POST", DEFINITIONS, keyed), sent("POST", WIDGETS, widget({"items": ENTRIES})))
    any_of = {**OPEN, "anyOf": [{"required": [f"f{n}"]} for n in range(1000)]}
    pattern = list_of({"type": "string", "pattern": "^(a+)+$"})
    rule = {
        **list_of(TEXT, maxItems=100_000),
        "x-kubernetes-validations": [{"rule": "self.items.all(x, x != 'y')"}],
    }
    embedded = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
    replaced = widget({"items": changed})
    applied = sent("PATCH", f"{WIDGETS}/x?fieldManager=t&force=true", replaced, APPLY)
    return [
        custom("custom: open fields", OPEN, texts()),
        custom("custom: nested open fields", OPEN, {"a": nested(50, MANY)}),
        custom("custom: unknown fields", wide_schema(1), texts()),
        custom("custom: keyed list", KEYED, {"items": ENTRIES}),
        custom("custom: keyed list, twice", KEYED, {"items": ENTRIES[:-1] * 1 + ENTRIES[:1]}),
        custom("custom: keyed list, all twice", KEYED, {"items": ENTRIES[:1] * len(ENTRIES)}),
        custom("custom: keyed list, wrong types", KEYED, {"items": [
            {"name": n, "port": "x"} for n in range(MANY // 3)]}),
        custom("custom: set", SET, {"items": filled(str)}),
        custom("custom: set, all twice", SET, {"items": ["x"] * MANY}),
        custom("custom: embedded objects", EMBEDDED, {"items": [embedded] * (MANY // 5)}),
        custom("custom: empty embedded objects", EMBEDDED, {"items": [{}] * MANY}),
        custom("custom: rule on each item", RULED, {"items": ENTRIES[:5000]}),
        custom("custom: rule on the list", rule, {"items": filled(str)}),
        custom("custom: patterns", pattern, {"items": ["a" * 20 + "b"] * MANY}),
        custom("custom: a long pattern", pattern, {"items": ["a" * 100_000 + "b"]}),
        custom("custom: 1,000 alternatives", any_of, texts("g", 40_000)),
        custom("custom: maps", {"type": "object", "additionalProperties": TEXT}, texts()),
        custom("custom: maps of wrong types", {"type": "object", "additionalProperties": TEXT},
               {f"k{n}": n for n in range(MANY)}),
        custom("custom: long texts", list_of(TEXT), {"items": ["x" * 65] * MANY}),
        Case("custom: change of a keyed list",
             sent("PATCH", f"{WIDGETS}/x", {"spec": {"items": changed}}, MERGE), stored),
        Case("custom: apply of a keyed list", applied, stored),
        Case("custom: change of invalid values",
             sent("PATCH", f"{WIDGETS}/x", {"spec": {"items": [
                 {"name": n, "port": "x"} for n in range(MANY // 3)]}}, MERGE), stored),
    ]  # fmt: skip
