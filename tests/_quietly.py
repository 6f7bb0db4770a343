"""Calls without warnings, where a test is not about them."""

import warnings


def quietly(call, *args, **kwargs):
    """Call without user warnings: tests are seeded, and their runs may end early."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PrivacyLeakWarning is one
        return call(*args, **kwargs)
