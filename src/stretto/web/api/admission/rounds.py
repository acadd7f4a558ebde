"""The two rounds of admission that changes objects.

If a policy or a webhook changes an object, all admission that changes objects runs a second time.
There, a policy or a webhook that states a reinvocation runs again if the object has changed since
it ran; all others run once.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass
class Turns:
    """Which policies, or which webhooks, run in the second round."""

    #: Those that ran, state a reinvocation, and whose object has not changed since.
    ran: set[Hashable] = field(default_factory=set)
    #: Those that run again.
    again: set[Hashable] = field(default_factory=set)
    #: The object after the last of them.
    output: bytes = b""

    def repeat(self) -> None:
        """Run those again that ran before a change."""
        self.again |= self.ran
        self.ran = set()

    def end(self, content: bytes) -> None:
        """End a round, with the object."""
        self.output = content


@dataclass
class Rounds:
    """State that the rounds of one write share."""

    #: True if the second round runs.
    is_second: bool = False
    #: True if a second round is needed.
    needs_second: bool = False
    #: Turns of policies, and of webhooks.
    turns: dict[str, Turns] = field(default_factory=dict)

    def begin(self, part: str, content: bytes) -> None:
        """Begin the policies or the webhooks of a round.

        Args:
            part: which of the two.
            content: the object.
        """
        turns = self.turns.setdefault(part, Turns())
        if self.is_second and turns.output != content:
            turns.repeat()

    def may_run(self, part: str, key: Hashable) -> bool:
        """Return whether a policy or a webhook runs in this round."""
        return not self.is_second or key in self.turns[part].again

    def has_run(self, part: str, key: Hashable, *, changed: bool, repeats: bool) -> None:
        """Note that a policy or a webhook has run.

        Args:
            part: policies or webhooks.
            key: which one.
            changed: whether it has changed the object.
            repeats: whether it runs again after later changes.
        """
        turns = self.turns[part]
        if changed:
            turns.repeat()
            self.needs_second = True
        if repeats:
            turns.ran.add(key)

    def end(self, part: str, content: bytes) -> None:
        """End the policies or the webhooks of a round, with the object."""
        self.turns[part].end(content)

    def next_round(self) -> bool:
        """Begin the second round, if it is needed and has not been."""
        if self.is_second or not self.needs_second:
            return False
        self.is_second = True
        return True
