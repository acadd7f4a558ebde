"""The user as which a command runs."""

import os
import pwd
import shutil
from pathlib import Path
from typing import Final, NamedTuple

_PROGRAM: Final = "setpriv"
"""The program of util-linux that changes the user."""


class UserError(Exception):
    """A command cannot run as its user; the text states the reason."""


class CommandUser(NamedTuple):
    """A user that is not the one of the agent."""

    #: User id.
    uid: int
    #: Primary group.
    gid: int
    #: Words before the command.
    prefix: tuple[str, ...]

    def own(self, directory: Path) -> None:
        """Give a directory and everything below it to the user.

        Raises:
            OSError: that is not possible.
        """
        os.chown(directory, self.uid, self.gid)
        for place, folders, files in os.walk(directory):
            for name in (*folders, *files):
                os.lchown(Path(place) / name, self.uid, self.gid)


def command_user(name: str | None) -> CommandUser | None:
    """The user with a name; ``None`` for the one of the agent.

    Raises:
        UserError: there is no such user, or the agent may not change to it.
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
        text = f"command.user: only an agent of root can run commands as '{name}'"
        raise UserError(f"{text}: leave command.user out, or run the agent as root")
    program = shutil.which(_PROGRAM)
    if program is None:
        raise UserError(f"command.user: '{name}' needs the program {_PROGRAM} (util-linux)")
    ids = (f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--init-groups", "--")
    return CommandUser(entry.pw_uid, entry.pw_gid, (program, *ids))
