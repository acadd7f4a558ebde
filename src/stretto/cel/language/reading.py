"""Reader of the tokens of an expression, which repairs and states problems of syntax.

The repairs and the texts are those of the default error strategy of ANTLR, which cel-go uses: it
skips one token that is too much, and continues without one token that is missing. The first other
problem ends the reading.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from stretto.cel.language.problems import Problem
from stretto.cel.language.tokens import LONE, Token, TokenKind, shown, tokens_of

STARTS: Final = LONE | {
    TokenKind.OPEN_BRACKET,
    TokenKind.OPEN_BRACE,
    TokenKind.OPEN_PARENTHESIS,
    TokenKind.DOT,
    TokenKind.MINUS,
    TokenKind.NOT,
}
"""Kinds of the first token of an expression."""
_GOES_ON: Final = frozenset(
    (
        TokenKind.DOT,
        TokenKind.OPEN_BRACKET,
        TokenKind.EQUAL,
        TokenKind.DIFFERENT,
        TokenKind.IN,
        TokenKind.LESS,
        TokenKind.AT_MOST,
        TokenKind.AT_LEAST,
        TokenKind.GREATER,
        TokenKind.AND,
        TokenKind.OR,
        TokenKind.PLUS,
        TokenKind.MINUS,
        TokenKind.TIMES,
        TokenKind.DIVIDE,
        TokenKind.MODULO,
    )
)
"""Kinds of the tokens that extend an expression."""
_ORDER: Final = {each: index for index, each in enumerate(TokenKind)}
_RESERVED: Final = re.compile(r"no viable alternative at input '.(true|false|null)'")


class StoppedReadingError(Exception):
    """A problem of syntax that no repair solves."""


class TokenReader:
    """Reader of the tokens of one expression."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens, self._problems = tokens_of(source)
        self._at = 0
        self._ends: list[frozenset[TokenKind]] = []
        self._is_repairing = False

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self._at]

    @property
    def kind(self) -> TokenKind:
        """Kind of the next token."""
        return self._tokens[self._at].kind

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems so far."""
        return tuple(self._problems)

    def peek(self, distance: int) -> TokenKind:
        """Return the kind of a token after the next one; the end has no further tokens."""
        return self._tokens[min(self._at + distance, len(self._tokens) - 1)].kind

    def take(self) -> Token:
        """Return the next token and go on."""
        token = self.token
        self._at = min(self._at + 1, len(self._tokens) - 1)
        self._is_repairing = False
        return token

    @contextmanager
    def inside(self, *ends: TokenKind) -> Iterator[None]:
        """Read an expression that ends before a token of some kinds."""
        self._ends.append(frozenset(ends))
        yield
        self._ends.pop()

    def refuse(self, offset: int, text: str) -> None:
        """Note a problem that is none of syntax."""
        self._problems.append(Problem(offset, text))

    def check(self, wanted: frozenset[TokenKind]) -> None:
        """Require a next token of some kinds; one token before it is skipped.

        Raises:
            StoppedReadingError: the token after the next one has another kind too.
        """
        if self.kind not in wanted and not self._skips(wanted):
            self._stop(f"mismatched input '{_text(self.token)}' expecting {_stated(wanted)}")

    def close(self, wanted: TokenKind) -> Token:
        """Take the token that ends a part of an expression.

        Raises:
            StoppedReadingError: there is another token.
        """
        after = _GOES_ON | self._ends[-1] if self._ends else frozenset()
        return self.expect(wanted, after)

    def expect(self, wanted: TokenKind, after: frozenset[TokenKind]) -> Token:
        """Take a token of a kind; a missing one is assumed.

        Args:
            wanted: the kind.
            after: kinds of the tokens that may follow it.

        Raises:
            StoppedReadingError: there is another token, which may not follow it.
        """
        if self.kind is wanted or self._skips(frozenset((wanted,))):
            return self.take()
        if self.kind not in after:
            self._stop(f"mismatched input '{_text(self.token)}' expecting {wanted}")
        self._note(f"missing {wanted} at '{_text(self.token)}'")
        self._is_repairing = True
        return Token(wanted, "", self.token.offset)

    def stop_at(self, start: Token) -> None:
        """State that no syntax has the tokens from a token to the next one."""
        text = shown(self._source[start.offset : self.token.offset + len(self.token.text)])
        problem = f"no viable alternative at input '{text}'"
        self._stop(_RESERVED.sub(r"mismatched input '\1' expecting IDENTIFIER", problem))

    def stop_extraneous(self, wanted: frozenset[TokenKind]) -> None:
        """State that the next token is too much."""
        self._stop(f"extraneous input '{_text(self.token)}' expecting {_stated(wanted)}")

    def _skips(self, wanted: frozenset[TokenKind]) -> bool:
        """Skip the next token if the one after it has one of the kinds."""
        if self.kind is TokenKind.END or self.peek(1) not in wanted:
            return False
        self._note(f"extraneous input '{_text(self.token)}' expecting {_stated(wanted)}")
        self.take()
        return True

    def _note(self, text: str) -> None:
        if not self._is_repairing:
            self._problems.append(Problem(self.token.offset, f"Syntax error: {text}"))

    def _stop(self, text: str) -> None:
        self._note(text)
        raise StoppedReadingError


def _text(token: Token) -> str:
    return shown(token.text) if token.text else TokenKind.END.value


def _stated(kinds: frozenset[TokenKind]) -> str:
    """Return kinds as a problem states them."""
    names = [each.value for each in sorted(kinds, key=_ORDER.__getitem__)]
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"
