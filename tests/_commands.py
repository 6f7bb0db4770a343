"""The command line, run in this process."""

from tests._fakes import Gaussian, votes

from secretballot.accounting import PrivacyAccountant
from secretballot.reports._cli import main


def ledger_command(capsys, *arguments):
    """Run ``secretballot ledger``; return its exit status, output and errors."""
    capsys.readouterr()
    try:
        status = main(["ledger", *map(str, arguments)])
    except SystemExit as exit:
        status = exit.code
    return status, *capsys.readouterr()


def two_releases(path):
    """Return an accountant with two releases in a new ledger."""
    accountant = PrivacyAccountant(1.0, 1e-5, order="renyi", ledger=path)
    for _ in range(2):
        accountant.release(Gaussian(sigma=40), votes(5))
    return accountant
