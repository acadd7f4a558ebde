"""The operating-system user of a command."""

import os
import pwd
import shutil
from pathlib import Path
from typing import Final, NamedTuple

_PROGRAM: Final = "setpriv"
"""The program of util-linux that changes the user."""


class UserError(Exception):
    """A command cannot run as its user; the text contains the reason."""


class CommandUser(NamedTuple):
    """User that differs from the user of the agent."""

    #: User id.
    uid: int
    #: Primary group.
    gid: int
    #: Program and arguments before the command.
    prefix: tuple[str, ...]

    def own(self, directory: Path) -> None:
        """Make the user the owner of a directory and of everything below it.

        Raises:
            OSError: the owner cannot be changed.
        """
        os.chown(directory, self.uid, self.gid)
        for place, folders, files in os.walk(directory):
            for name in (*folders, *files):
                os.lchown(Path(place) / name, self.uid, self.gid)


def command_user(name: str | None) -> CommandUser | None:
    """Return the user with this name; ``None`` if it is the user of the agent.

    Raises:
        UserError: the user does not exist, or the agent may not change to it.
    """
    if not name:
        return None
    try:
        entry = pwd.getpwnam(name)
    except KeyError as error:
        raise UserError(f"command.user: there is no user '{name}' on this machine") from error
    if entry.pw_uid == os.geteuid():
        return None
    if os.geteuid() != 0:
        text = f"command.user: only an agent that runs as root can run commands as '{name}'"
        raise UserError(f"{text}: remove command.user, or run the agent as root")
    program = shutil.which(_PROGRAM)
    if program is None:
        raise UserError(f"command.user: '{name}' needs the program {_PROGRAM} (util-linux)")
    ids = (f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--init-groups", "--")
    return CommandUser(entry.pw_uid, entry.pw_gid, (program, *ids))
