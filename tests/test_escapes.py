"""What others wrote is read, and never acts: on a terminal, in HTML, in a picture."""

import io
import os
import sys
import warnings

import pytest
from tests._fakes import Grouped, votes

from secretballot.__main__ import main
from secretballot._base._view import Table, text_table, visible
from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning, PrivacyStatement

#: Clears the screen, begins a line, reads backwards, is invisible, and can't be encoded.
ACTING = "\x1b[2J\n\u202e\u200b\udc80<b>"
SHOWN = r"\x1b[2J\n\u202e\u200b\udc80<b>"
SPOKEN = ACTING.replace("\udc80", "")


def harmless(text):
    lines = text.splitlines()
    assert all(line.isprintable() for line in lines), [x for x in lines if not x.isprintable()]
    text.encode("utf-8")
    return True


@pytest.fixture
def accountant(tmp_path):
    path = tmp_path / (SPOKEN if os.name == "nt" else ACTING).replace("/", "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        accountant = PrivacyAccountant({SPOKEN: 1.0, "$x$": 2.0}, 1e-5, ledger=path)
        for note in ({}, {"split_by": "row", ACTING: ACTING, "people": {SPOKEN: 3}}):
            mechanism = Grouped(rates={SPOKEN: 1e-6, "$x$": 1e-6})
            object.__setattr__(mechanism, ACTING, [ACTING, {ACTING: ACTING}])
            accountant.release(mechanism, votes(1), note=note)
    return accountant


def test_text_is_shown_with_escapes():
    assert visible(ACTING) == SHOWN
    assert visible("plain é 漢 'x'") == "plain é 漢 'x'"
    assert harmless(text_table([ACTING, "b"], [[ACTING, ACTING]]))
    assert harmless(Table([ACTING, "b"], [[ACTING, ACTING]], folded=ACTING).html)


@pytest.mark.parametrize("command", ["show", "replay", "verify", "statement"])
def test_on_the_command_line(accountant, capsys, command):
    assert main(["ledger", command, accountant.ledger]) == 0
    assert harmless(capsys.readouterr().out)
    assert main(["ledger", command, accountant.ledger + ACTING]) == 1
    assert harmless(capsys.readouterr().err)
    assert main(["ledger", "verify", accountant.ledger, "--head", ACTING]) == 1
    assert harmless(capsys.readouterr().err)


def test_on_a_terminal_that_knows_few_letters(accountant, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main(["ledger", "show", accountant.ledger]) == 0
    sys.stdout.flush()
    assert b"2 entries, head digest" in written.getvalue()


def test_in_statements_and_reports(accountant):
    statement = accountant.statement()
    again = PrivacyStatement.from_dict(statement.to_dict())
    for each in (statement, again, accountant):
        assert harmless(repr(each))
        assert harmless(each._repr_html_())
        assert "<b>" not in each._repr_html_()
    assert harmless(str(statement))
    # A statement that was edited is shown as well.
    values = {**statement.to_dict(), "ledger_id": ACTING, "head": ACTING, "created": ACTING}
    values["assumptions"] = [ACTING]
    assert harmless(str(PrivacyStatement.from_dict(values)))
    assert harmless(PrivacyStatement.from_dict(values).to_html())


def test_in_a_picture(accountant):
    plt = pytest.importorskip("matplotlib.pyplot")
    from secretballot.inspection import BudgetDisplay

    accuracy = {ACTING: (None, 0.5), "$x$": ([1], [0.5])}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        display = BudgetDisplay.from_accountant(accountant, accuracy=accuracy)
        display.figure_.canvas.draw()
    for ax in display.figure_.axes:
        names = [text.get_text() for text in ax.get_legend().get_texts()]
        assert r"\$x\$" in names
        assert all(map(str.isprintable, names))
    plt.close("all")
