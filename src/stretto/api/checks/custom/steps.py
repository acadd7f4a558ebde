"""Steps of the check of a value: a limit on the work that a schema causes."""

from typing import Final

from stretto.api.checks.fields.patterns import COMPILATION, TextPattern, program_of

_COMPILED: Final = 200
"""Instructions of a pattern that are compiled in a step: a microsecond."""
_SEARCHED: Final = 800
"""Products of instructions and characters for a step of a search.

A search that follows all instructions at each character takes up to four microseconds for them; one
that follows a few, as most do, takes a fraction. Fewer would refuse lists of a thousand networks
whose pattern has 784 instructions.
"""


class TooManyStepsError(Exception):
    """The check of a value takes more steps than its limit."""


class Steps:
    """The steps that the check of a value has left."""

    def __init__(self, most: int) -> None:
        """Limit a check.

        Args:
            most: the maximum number of steps.
        """
        self._left = most
        # Programs for texts of ASCII, and for others.
        self._programs: dict[bool, dict[str, TextPattern]] = {True: {}, False: {}}

    def spend(self, steps: int) -> None:
        """Take steps.

        Raises:
            TooManyStepsError: fewer are left.
        """
        self._left -= steps
        if self._left < 0:
            raise TooManyStepsError

    def matches(self, pattern: str, text: str) -> bool:
        """Return whether a part of a text matches a pattern, whose compilation counts once.

        Raises:
            TooManyStepsError: this may take more steps than are left.
        """
        programs = self._programs[text.isascii()]
        program = programs.get(pattern)
        if program is None:
            program = programs[pattern] = program_of(pattern, is_ascii=text.isascii())
            self.spend(program.size * COMPILATION // _COMPILED)
        self._left -= program.size * len(text) // _SEARCHED
        if self._left < 0:
            raise TooManyStepsError
        return program.matches(text)
