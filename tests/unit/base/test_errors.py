"""Errors: fields in, a sentence out, an exit code, and across a process border."""

import pickle

import pytest

from stretto.base import errors
from stretto.base.errors import ExitCode, InputError, UnknownNameError


def test_bad_input_states_place_expectation_and_fix() -> None:
    error = InputError(
        "pods.csv, line 7, column gpu_milli", "1500", "an integer 1..1000", "fix the row or drop it"
    )
    assert str(error) == (
        "pods.csv, line 7, column gpu_milli: got '1500', expected an integer 1..1000; "
        "fix the row or drop it"
    )


def test_bad_input_without_a_value_got_nothing() -> None:
    assert str(InputError("spec.seed", None, "an integer")) == (
        "spec.seed: got nothing, expected an integer"
    )


def test_a_long_value_is_cut_in_the_message() -> None:
    assert len(str(InputError("x", "a" * 10_000, "less"))) < 100


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    error = UnknownNameError("policy", "bestfit", ["fgd", "best-fit", "random"])
    assert str(error) == "unknown policy 'bestfit'; did you mean best-fit?"


def test_case_does_not_hide_the_nearest_name() -> None:
    known = ["NodeName", "TaintToleration"]
    assert UnknownNameError("plugin", "nodename", known).nearest == ("NodeName",)


def test_a_name_near_to_nothing_is_answered_with_all() -> None:
    error = UnknownNameError("policy", "zzz", ["fgd", "random"])
    assert str(error) == "unknown policy 'zzz'; known: fgd, random"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.StrettoError, ExitCode.ERROR),
        (errors.InputError, ExitCode.USAGE),
        (errors.UnknownNameError, ExitCode.USAGE),
        (errors.MissingExtraError, ExitCode.USAGE),
        (errors.DoesNotFitError, ExitCode.DOES_NOT_FIT),
        (errors.TimeoutExpiredError, ExitCode.TIMEOUT),
        (errors.NotAllowedError, ExitCode.NOT_ALLOWED),
        (errors.NotFoundError, ExitCode.NOT_FOUND),
        (errors.ConflictError, ExitCode.CONFLICT),
        (errors.UnreachableError, ExitCode.UNREACHABLE),
        (errors.CheckFailedError, ExitCode.CHECK_FAILED),
        (errors.InvariantBrokenError, ExitCode.CHECK_FAILED),
    ],
)
def test_each_error_has_its_exit_code(kind: type[errors.StrettoError], code: ExitCode) -> None:
    assert kind.exit_code is code


@pytest.mark.parametrize(
    "error",
    [
        InputError("a", 1, "b", "c"),
        UnknownNameError("policy", "x", ["y"]),
        errors.MissingExtraError("a tier", "kernels", "or another tier"),
        errors.NotFoundError("pod a/b", "the run has no such pod", "list them"),
        errors.TooOldError("3", "7"),
        errors.InvalidTransitionError("m", ExitCode.OK, ExitCode.ERROR, [ExitCode.USAGE]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_crosses_a_process_border(error: errors.StrettoError) -> None:
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_reason_and_a_hint_follow_what_happened() -> None:
    error = errors.NotFoundError("pod a/b", "the run has no such pod", "list them")
    assert str(error) == "pod a/b was not found: the run has no such pod; list them"


def test_the_drawn_tree_names_every_error() -> None:
    drawn = errors.__doc__ or ""
    names = [name for name in vars(errors) if name.endswith("Error") and name[0] != "_"]
    assert [name for name in names if name not in drawn] == []
