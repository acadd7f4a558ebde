"""The text form of protobuf messages, as Mesos prints them in errors."""

from collections.abc import Iterator
from typing import Any

from stretto.offers.messages.schema import Field, Label, Message, message_type, schema
from stretto.offers.messages.text import FLOATS


def debug_text(name: str, message: Message) -> str:
    """The message ``name`` with one field per line, by ascending number."""
    return "".join(f"{line}\n" for line in _lines(name, message, ""))


def _lines(name: str, message: Message, indent: str) -> Iterator[str]:
    for field in message_type(name).fields.values():
        if field.name not in message:
            continue
        value = message[field.name]
        if field.label is Label.MAP:
            for key in sorted(value):
                yield f"{indent}{field.name} {{"
                yield f'{indent}  key: "{key}"'
                yield from _field(
                    Field(2, "value", field.type, Label.OPTIONAL), value[key], indent + "  "
                )
                yield f"{indent}}}"
            continue
        for each in value if field.label is Label.REPEATED else [value]:
            yield from _field(field, each, indent)


def _field(field: Field, value: Any, indent: str) -> Iterator[str]:
    if field.type in schema().messages:
        yield f"{indent}{field.name} {{"
        yield from _lines(field.type, value, indent + "  ")
        yield f"{indent}}}"
    else:
        yield f"{indent}{field.name}: {_scalar(field, value)}"


def _scalar(field: Field, value: Any) -> str:
    if field.type in ("string", "bytes"):
        escaped = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if field.type == "bool":
        return "true" if value else "false"
    return f"{value:.15g}" if field.type in FLOATS else str(value)
