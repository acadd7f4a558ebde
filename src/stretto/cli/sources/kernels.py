"""The kernels of a command that reads a state, resolved after its arguments are checked.

If kernels are missing, a command starts a process that compiles them; a command with a wrong
argument must not start it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.cli.kernels.tier import tier_of
from stretto.cli.options import CommandContext
from stretto.cli.sources.states import StateOptions

if TYPE_CHECKING:
    from stretto.plane.copy import SchedulingRules


def tier_on(
    common: CommandContext, opts: StateOptions, requested: str, plugins: Sequence[Path] = ()
) -> str:
    """Return the kernel tier of a command that reads a state; a wrong state starts no compiler.

    Args:
        common: the command, for the note about the compilation.
        opts: the options of the state.
        requested: ``auto``, ``numba`` or ``numpy``.
        plugins: files with rules that the profile may name.

    Raises:
        InputError: the state or the profile is invalid.
        NotFoundError: no run has the name.
        MissingExtraError: ``numba`` is requested but not installed.
    """
    from stretto.sim.options import chosen_source
    from stretto.sim.states.source import referenced

    opts.check()
    if not opts.reads_cluster:
        referenced(opts.named)
    chosen_source("default", profile=opts.profile, plugins=plugins)
    return tier_of(requested, common.console.note)


def manifest_rules(
    common: CommandContext,
    opts: StateOptions,
    tier: str,
    manifests: Sequence[Path],
    plugins: tuple[Path, ...] = (),
) -> "SchedulingRules":
    """Return the kernels for a trial of manifests; a wrong file or state starts no compiler.

    Raises:
        InputError: a file does not contain manifests, or the state is invalid.
        NotFoundError: no run has the name.
    """
    from stretto.plane.copy import SchedulingRules
    from stretto.sim.history.file_kinds import FileKind, expect_kind

    for path in manifests:
        expect_kind(path, FileKind.MANIFESTS)
    return SchedulingRules("", tier_on(common, opts, tier, plugins), plugins=plugins)
