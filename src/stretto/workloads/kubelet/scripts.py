"""Simulated shell scripts: conditions on variables, and when known commands end.

Nothing is executed. A script may contain known commands, ``exit``, ``if`` with tests of numbers and
texts, endless loops, variables of the container, ``$((…))`` and ``$(expr …)``.
"""

import operator
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_EXPANDED: Final = re.compile(
    r"'[^']*'|\$\(\((?P<sum>[^()]*)\)\)|\$\(\s*expr\s(?P<expr>[^()]*)\)|\$\{(?P<braced>\w+)\}"
    r"|\$(?P<name>\w+)"
)
_TERM: Final = re.compile(r"\s*(-?\d+)\s*([-+*/%])\s*(-?\d+)\s*")


def _quotient(one: int, two: int) -> int:
    """Return a quotient rounded to zero."""
    found = abs(one) // abs(two)
    return found if (one < 0) == (two < 0) else -found


_SIGNS: Final[Mapping[str, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "%": lambda a, b: a - b * _quotient(a, b),
}
_NUMBERS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}
_TEXTS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}
_MOST_CHARACTERS: Final = 1_000_000
"""Maximum length of a script with the values of its variables."""
_SEPARATORS: Final = frozenset({";", "&&", "||"})
_WORDS: Final = frozenset({"if", "then", "elif", "else", "fi", "while", "until", "for", "do"})


class UnknownScriptError(Exception):
    """A script contains something that is not simulated."""


@dataclass(frozen=True, slots=True)
class Ending:
    """End of a command."""

    #: Seconds after its start; infinite: never.
    after: float
    #: Exit code.
    code: int = 0


@dataclass(frozen=True, slots=True)
class _Reached:
    """State of a script after a part of it."""

    #: Seconds after its start.
    after: float
    #: Exit code of the last command.
    code: int
    #: True if the script has ended.
    is_over: bool = False


CommandEnding = Callable[[Sequence[str]], Ending | None]
"""Returns the end of a command with its arguments; ``None`` if the command is unknown."""


def script_ending(script: str, variables: Mapping[str, str], known: CommandEnding) -> Ending | None:
    """The end of a script; ``None`` if it contains something that is not simulated.

    Args:
        script: the text.
        variables: the environment of the container; other variables are empty.
        known: returns the end of a single command.
    """
    try:
        reached = _Script(list(_Lexer(_expanded(script, variables))), known).run()
    except (UnknownScriptError, ValueError, ZeroDivisionError, RecursionError):
        return None
    return Ending(reached.after, reached.code)


def _expanded(script: str, variables: Mapping[str, str]) -> str:
    """A script with the values of its variables and sums, except in single quotes."""

    def value(found: re.Match[str]) -> str:
        inner = found["sum"] or found["expr"]
        if inner is not None:
            return _sum(_expanded(inner, variables))
        name = found["braced"] or found["name"]
        if name == "RANDOM":
            raise UnknownScriptError(name)
        return found[0] if name is None else variables.get(name, "")

    if script.count("$") * max(map(len, variables.values()), default=0) > _MOST_CHARACTERS:
        raise UnknownScriptError(script)
    text = _EXPANDED.sub(value, _inner_first(script, variables))
    if "$" in re.sub(r"'[^']*'", "", text) or "`" in text:
        raise UnknownScriptError(text)
    return text


def _inner_first(script: str, variables: Mapping[str, str]) -> str:
    """A script whose variables in braces are replaced, so that sums contain no parentheses."""
    return re.sub(
        r"'[^']*'|\$\{(\w+)\}",
        lambda found: found[0] if found[1] is None else variables.get(found[1], ""),
        script,
    )


def _sum(text: str) -> str:
    if re.fullmatch(r"\s*-?\d+\s*", text):
        return text.strip()
    match = _TERM.fullmatch(text.replace("\\*", "*"))
    if match is None:
        raise UnknownScriptError(text)
    return str(_SIGNS[match[2]](int(match[1]), int(match[3])))


class _Lexer(shlex.shlex):
    """Splits a script at white space and operators only."""

    def __init__(self, script: str) -> None:
        super().__init__(script.replace("\n", " ; "), posix=True, punctuation_chars=True)
        self.whitespace_split = True
        self.commenters = ""  # a comment ends with its line, and lines are separated here


class _Script:
    """Interpreter of the tokens of a script."""

    def __init__(self, tokens: list[str], known: CommandEnding) -> None:
        self._tokens = tokens
        self._known = known
        self._at = 0

    def run(self) -> _Reached:
        """Follow the whole script."""
        reached = self._list(_Reached(0.0, 0), frozenset(), skips=False)
        if self._at < len(self._tokens):
            raise UnknownScriptError(self._tokens[self._at])
        return reached

    def _list(self, start: _Reached, stops: frozenset[str], *, skips: bool) -> _Reached:
        """Follow commands up to a word that ends the list; a skipped list has no effect."""
        reached, before = start, ";"
        while self._at < len(self._tokens) and self._tokens[self._at] not in stops:
            token = self._tokens[self._at]
            if token in _SEPARATORS:
                before = token if token != ";" or before == ";" else before
                self._at += 1
                continue
            left_out = (before == "&&" and reached.code != 0) or (
                before == "||" and reached.code == 0
            )
            reached = self._command(reached, skips=skips or left_out or reached.is_over)
            before = ";"
        return reached

    def _command(self, start: _Reached, *, skips: bool) -> _Reached:
        word = self._tokens[self._at]
        if word == "if":
            return self._if(start, skips=skips)
        if word in ("while", "until"):
            return self._loop(start, skips=skips)
        if word in _WORDS:
            raise UnknownScriptError(word)
        end = self._at
        while end < len(self._tokens) and self._tokens[end] not in _SEPARATORS:
            end += 1
        words, self._at = self._tokens[self._at : end], end
        return start if skips else self._ended(start, words)

    def _ended(self, start: _Reached, words: list[str]) -> _Reached:
        """Follow one command."""
        if words[0] == "exit":
            code = int(words[1]) & 255 if len(words) > 1 else start.code
            return _Reached(start.after, code, is_over=True)
        if words[0] in ("[", "[[", "test"):
            return _Reached(start.after, 0 if _holds(words) else 1)
        ending = self._known(words)
        if ending is None:
            raise UnknownScriptError(words[0])
        never = ending.after == float("inf")
        return _Reached(start.after + ending.after, ending.code, is_over=never)

    def _if(self, start: _Reached, *, skips: bool) -> _Reached:
        """Follow ``if``: the first branch whose condition has the exit code 0."""
        reached, is_done = start, skips
        while self._next("if", "elif"):
            condition = self._list(reached, frozenset({"then"}), skips=is_done)
            self._expect("then")
            takes = not is_done and condition.code == 0 and not condition.is_over
            ends = frozenset({"elif", "else", "fi"})
            inside = self._list(condition, ends, skips=not takes)
            if not is_done:
                reached = inside if takes else _Reached(condition.after, 0, condition.is_over)
            is_done = is_done or takes or condition.is_over
        if self._next("else"):
            reached = self._list(reached, frozenset({"fi"}), skips=is_done)
        self._expect("fi")
        return reached

    def _loop(self, start: _Reached, *, skips: bool) -> _Reached:
        """Follow a loop that never ends; other loops are not simulated."""
        word = self._tokens[self._at]
        self._at += 1
        condition = self._list(start, frozenset({"do"}), skips=skips)
        self._expect("do")
        first = self._at
        self._list(condition, frozenset({"done"}), skips=True)
        body = self._tokens[first : self._at]
        self._expect("done")
        if skips:
            return start
        if (condition.code == 0) != (word == "while"):
            return _Reached(condition.after, 0)
        if {"break", "exit", "return"} & set(body):
            raise UnknownScriptError(word)
        return _Reached(float("inf"), 0, is_over=True)

    def _next(self, *words: str) -> bool:
        """Pass one of some words; return whether it is the next token."""
        found = self._at < len(self._tokens) and self._tokens[self._at] in words
        self._at += found
        return found

    def _expect(self, word: str) -> None:
        if not self._next(word):
            raise UnknownScriptError(word)


def _holds(words: list[str]) -> bool:
    """Return whether a test of numbers or texts holds."""
    closing = {"[": "]", "[[": "]]"}.get(words[0])
    inner = words[1:]
    if closing is not None:
        if inner[-1:] != [closing]:
            raise UnknownScriptError(words[0])
        inner = inner[:-1]
    if inner[:1] == ["!"]:
        return not _holds(["test", *inner[1:]])
    if len(inner) == 1:
        return bool(inner[0])
    if len(inner) == 2 and inner[0] in ("-z", "-n"):
        return bool(inner[1]) == (inner[0] == "-n")
    if len(inner) == 3 and inner[1] in _NUMBERS:
        return _NUMBERS[inner[1]](int(inner[0]), int(inner[2]))
    if len(inner) == 3 and inner[1] in _TEXTS:
        return _TEXTS[inner[1]](inner[0], inner[2])
    raise UnknownScriptError(" ".join(words))
