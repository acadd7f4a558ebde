"""Reads JSONPath templates, with the grammar of kubectl 1.36 (``client-go/util/jsonpath``).

Differences to kubectl: a template without braces is one expression, a quoted key with dots is also
a whole key, and a range without an end is refused.
"""

import codecs
import re
from typing import Final

from stretto.api.wire.limits import MAX_DEPTH
from stretto.cli.output.jsonpath.steps import (
    COMPARISONS,
    PathFilter,
    PathKey,
    PathLiteral,
    PathSlice,
    PathStep,
    PathUnion,
    PathWord,
    TemplateError,
    TemplatePart,
    TemplatePath,
    TemplateRange,
)

_SPACES: Final = re.compile(r"[ @$]+")
_FIELD: Final = re.compile(r"(?:\\.|[^\\ \t\r\n.,\[\]$@{}])*", re.DOTALL)
_NUMBER: Final = re.compile(r"[+-]?[\d.]*")
_BRACKETS: Final = re.compile(r"\[([^\]\n]*)\]")
_QUOTED_KEY: Final = re.compile(r"'([^']*)'")
_SLICE: Final = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?", re.ASCII)
_CONDITION: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_QUOTED: Final = {
    '"': re.compile(r'"((?:\\.|[^"\\\n])*)"', re.DOTALL),
    "'": re.compile(r"'((?:\\.|[^'\\\n])*)'", re.DOTALL),
}
_ESCAPE: Final = re.compile(
    r"\\(?:[abfnrtv\\]|x[0-9a-fA-F]{2}|[0-3][0-7]{2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}"
    r"|U(?:0000(?![dD][89a-fA-F])|000[1-9a-fA-F]|0010)[0-9a-fA-F]{4}|(.))",
    re.DOTALL,
)
"""An escape sequence; the group has the sign of one that is no byte or character of Unicode."""
_FILTER: Final = "[?("
_RANGE: Final = "range"
_END: Final = "end"


def parsed(template: str) -> tuple[TemplatePart, ...]:
    """Parse a template into its parts.

    Args:
        template: text with expressions in braces; without braces, one expression.

    Raises:
        TemplateError: the template is malformed.
    """
    text = template if "{" in template else f"{{{template}}}"
    parts: list[str | TemplatePath | _Mark] = []
    at = 0
    while at < len(text):
        if text[at] == "{":
            reader = _Expression(text, at + 1, template)
            parts.append(reader.part())
            at = reader.at
        else:
            end = text.find("{", at)
            end = len(text) if end < 0 else end
            parts.append(text[at:end])
            at = end
    return _nested(parts, template)


class _Mark:
    """``{range ...}`` or ``{end}``, before ranges are matched with their ends."""

    def __init__(self, word: str, path: TemplatePath) -> None:
        #: ``range`` or ``end``.
        self.word = word
        #: The path of a range.
        self.path = path


def _nested(parts: "list[str | TemplatePath | _Mark]", template: str) -> tuple[TemplatePart, ...]:
    """Nest the parts: each range contains its own parts."""
    open_ranges: list[tuple[TemplatePath, list[TemplatePart]]] = [((), [])]
    for part in parts:
        if not isinstance(part, _Mark):
            open_ranges[-1][1].append(part)
        elif part.word == _RANGE and len(open_ranges) > MAX_DEPTH:
            raise TemplateError(template, f"more than {MAX_DEPTH} ranges inside one another")
        elif part.word == _RANGE:
            open_ranges.append((part.path, []))
        elif len(open_ranges) == 1:
            raise TemplateError(template, "not in range, nothing to end")
        else:
            path, inside = open_ranges.pop()
            open_ranges[-1][1].append(TemplateRange(path, tuple(inside)))
    if len(open_ranges) > 1:
        raise TemplateError(template, "a {range ...} without its {end}")
    return tuple(open_ranges[0][1])


class _Expression:
    """Reads the expression after a brace, step by step."""

    def __init__(self, text: str, at: int, template: str) -> None:
        self._text = text
        #: Position of the next character.
        self.at = at
        self._template = template
        self._steps: list[PathStep] = []
        self._word = ""

    def part(self) -> "TemplatePath | _Mark":
        """Read the expression up to its closing brace.

        Raises:
            TemplateError: the expression is malformed.
        """
        while not self._text.startswith("}", self.at):
            self._step()
        self.at += 1
        path = tuple(self._steps)
        return _Mark(self._word, path) if self._word else path

    def _step(self) -> None:
        """Read one step, or skip blanks and the signs of the current object."""
        first = self._text[self.at : self.at + 1]
        if first in ("", "\r", "\n"):
            self._refuse("unclosed action")
        if passed := _SPACES.match(self._text, self.at):
            self.at = passed.end()
        elif self._text.startswith(_FILTER, self.at):
            self._filter()
        elif self._text.startswith("..", self.at):
            self._descent()
        elif first == "[":
            self._brackets()
        elif first in _QUOTED:
            self._quote(first)
        elif first == ".":
            self._field(1)
        elif first in "+-" or first.isdigit():
            self._number()
        elif first.isalpha() or first == "_":
            self._identifier()
        else:
            self._refuse(f"unrecognized character {first!r}")

    def _refuse(self, problem: str) -> None:
        raise TemplateError(self._template, problem)

    def _taken(self, pattern: re.Pattern[str], problem: str) -> re.Match[str]:
        """Return the match of a pattern at the current position."""
        found = pattern.match(self._text, self.at)
        if found is None:
            raise TemplateError(self._template, problem)
        self.at = found.end()
        return found

    def _field(self, skipped: int) -> None:
        """Read a key after a dot."""
        self.at += skipped
        name = self._taken(_FIELD, "a field")[0]
        self._steps.append(PathWord.CHILDREN if name == "*" else PathKey(name.replace("\\", "")))

    def _descent(self) -> None:
        if self._steps and self._steps[-1] is PathWord.DESCENT:
            self._refuse("invalid multiple recursive descent")
        self._steps.append(PathWord.DESCENT)
        self.at += 2
        following = self._text[self.at : self.at + 1]
        if following.isalnum() or following == "_":
            self._field(0)

    def _number(self) -> None:
        text = self._taken(_NUMBER, "a number")[0]
        try:
            self._steps.append(PathLiteral(float(text) if "." in text else int(text)))
        except ValueError:
            self._refuse(f"cannot parse number {text}")

    def _identifier(self) -> None:
        word = self._taken(_FIELD, "a word")[0]
        if word in ("true", "false"):
            self._steps.append(PathLiteral(word == "true"))
        elif word in (_RANGE, _END):
            self._word = word
        else:
            hint = f'a path begins with a dot: .{word}; a text has quotes: "{word}"'
            raise TemplateError(self._template, f"unrecognized identifier {word}", hint)

    def _quote(self, mark: str) -> None:
        text = self._taken(_QUOTED[mark], "unterminated quoted string")[1]
        wrong = [e for e in _ESCAPE.finditer(text) if e[1] is not None and e[1] != mark]
        if wrong:
            self._refuse(f"invalid escape {wrong[0][0]}")
        self._steps.append(PathLiteral(_ESCAPE.sub(lambda e: e[1] or _unescaped(e[0]), text)))

    # ------------------------------------------------------------ brackets

    def _brackets(self) -> None:
        text = self._taken(_BRACKETS, "unterminated array")[1]
        parts = text.split(",")
        if len(parts) == 1:
            self._steps.append(self._index(text))
        else:
            self._steps.append(PathUnion(tuple((self._index(each.strip(" ")),) for each in parts)))

    def _index(self, text: str) -> PathStep:
        """Parse a quoted key, an index or a slice."""
        key = _QUOTED_KEY.fullmatch(text)
        if key is not None:
            names = re.split(r"(?<!\\)\.", key[1])
            plain = [each.replace("\\", "") for each in names]
            return PathKey(".".join(plain), tuple(plain) if len(plain) > 1 else ())
        found = _SLICE.fullmatch(":" if text == "*" else text)
        if found is None or found[1] == "-":
            raise TemplateError(self._template, f"invalid array index {text}")
        first, behind, step = (each.strip(":") if each else "" for each in found.groups())
        try:
            start = int(first or 0)
            if found[2] is None:
                return PathSlice(start, None, 1, single=True)
            end = int(behind) if behind else None
            return PathSlice(start, end, int(step or 1), single=False)
        except ValueError:
            raise TemplateError(self._template, f"invalid array index {text}") from None

    # ------------------------------------------------------------ filters

    def _filter(self) -> None:
        self.at += len(_FILTER)
        text = self._condition()
        found = _CONDITION.fullmatch(text)
        if found is None:
            self._steps.append(PathFilter(self._inner(text), "", ()))
            return
        if found[2] not in COMPARISONS:
            known = ", ".join(COMPARISONS)
            raise TemplateError(
                self._template, f"unrecognized filter operator {found[2]}", f"known: {known}"
            )
        self._steps.append(PathFilter(self._inner(found[1]), found[2], self._inner(found[3])))

    def _condition(self) -> str:
        """Read the text up to the closing bracket, which may be inside the quoted text."""
        begin, quote = self.at, ""
        closed = False
        while self.at < len(self._text) and self._text[self.at] != "\n":
            char = self._text[self.at]
            self.at += 1
            if char in _QUOTED and not quote:
                quote = char
            elif char == quote and self._text[self.at - 2] != "\\":
                closed = True
            elif char == ")" and closed == bool(quote):
                if not self._text.startswith("]", self.at):
                    self._refuse("unclosed array expect ]")
                self.at += 1
                return self._text[begin : self.at - 2]
        raise TemplateError(self._template, "unterminated filter")

    def _inner(self, text: str) -> TemplatePath:
        """Parse one side of a condition."""
        reader = _Expression(f"{text}}}", 0, self._template)
        part = reader.part()
        if isinstance(part, _Mark):
            raise TemplateError(self._template, f"unrecognized identifier {part.word}")
        return part


def _unescaped(text: str) -> str:
    """Return the character of an escape sequence that is equal in Go and Python."""
    return codecs.decode(text, "unicode_escape")
