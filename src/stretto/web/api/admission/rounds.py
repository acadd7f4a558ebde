"""The two rounds of mutating admission.

If a policy or a webhook changes an object, all mutating admission runs a second time. In the second
round, a policy or a webhook with a reinvocation policy runs again if the object has changed since
it ran; all others run once.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field

import msgspec


@dataclass
class Turns:
    """The policies, or the webhooks, that run in the second round."""

    #: Keys of those that ran, have a reinvocation policy, and whose object has not changed since.
    ran: set[Hashable] = field(default_factory=set)
    #: Keys of those that run again.
    again: set[Hashable] = field(default_factory=set)
    #: The object after the last one.
    output: bytes = b""

    def repeat(self) -> None:
        """Schedule those that ran before a change to run again."""
        self.again |= self.ran
        self.ran = set()

    def end(self, content: bytes) -> None:
        """End a round with this object."""
        self.output = content


class Rounds(msgspec.Struct):
    """State of the rounds of one write."""

    #: True if the second round is running.
    is_second: bool = False
    #: True if a second round is needed.
    needs_second: bool = False
    #: Turns of policies, and of webhooks.
    turns: dict[str, Turns] = msgspec.field(default_factory=dict)

    def begin(self, part: str, content: bytes) -> None:
        """Begin the policies or the webhooks of a round.

        Args:
            part: policies or webhooks.
            content: the object.
        """
        turns = self.turns.setdefault(part, Turns())
        if self.is_second and turns.output != content:
            turns.repeat()

    def may_run(self, part: str, key: Hashable) -> bool:
        """Return whether a policy or a webhook runs in this round."""
        return not self.is_second or key in self.turns[part].again

    def has_run(self, part: str, key: Hashable, *, changed: bool, repeats: bool) -> None:
        """Record that a policy or a webhook has run.

        Args:
            part: policies or webhooks.
            key: the policy or the webhook.
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
        """End the policies or the webhooks of a round with this object."""
        self.turns[part].end(content)

    def next_round(self) -> bool:
        """Begin the second round if it is needed and has not begun; return whether it begins."""
        if self.is_second or not self.needs_second:
            return False
        self.is_second = True
        return True
