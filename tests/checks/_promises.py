"""One common check of a mechanism, by the name of its promise."""

from secretballot.checks import mechanism_checks


def check_promise(promise, example):
    """Raise AssertionError if an example breaks a promise, as `mechanism_checks` names it."""
    dict(mechanism_checks({"example": example}))[f"example-{promise}"]()
