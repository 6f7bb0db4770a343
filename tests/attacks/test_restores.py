"""Old copies put back, deleted ledgers, copied folders: no budget is had twice."""

import random
import shutil

import pytest
from tests._fakes import basic_budget, spend

from secretballot.accounting import LedgerError, PrivacyAccountant

AFFORDABLE = 12


class Careless:
    """Somebody who copies, deletes and restores, and spends whenever that is possible.

    Every spend that was answered counts: all together may not exceed the budget.
    """

    def __init__(self, folder, generator):
        self.path = folder / "data" / "budget.ledger"
        self.path.parent.mkdir()
        self.backups = folder / "backups"
        self.generator = generator
        self.answered = self.refused = self.moves = 0
        basic_budget(self.path, 0.25 * AFFORDABLE)

    def spend(self):
        try:
            spend(PrivacyAccountant.open(self.path))
            self.answered += 1
        except (RuntimeError, UserWarning):  # of the budget, of the ledger, of its mark
            self.refused += 1

    def back_up(self):
        """With `rsync` or `tar`, of the folder as it is."""
        shutil.copytree(self.path.parent, self.backups / str(self.moves), dirs_exist_ok=True)

    def _any_backup(self):
        return self.generator.choice(sorted(self.backups.iterdir())) if self.moves else None

    def restore_ledger(self):
        """Put an old ledger into the place of the newer one."""
        if (backup := self._any_backup()) and (backup / self.path.name).exists():
            self.path.unlink(missing_ok=True)
            shutil.copy2(backup / self.path.name, self.path)

    def overwrite_ledger(self):
        """Write an old ledger into the same file, if the mark is there and tells."""
        backup = self._any_backup()
        if backup and self.path.exists() and (backup / self.path.name).exists():
            self.path.write_bytes((backup / self.path.name).read_bytes())

    def restore_folder(self):
        """Put a whole old folder into the place of the newer one."""
        if backup := self._any_backup():
            shutil.rmtree(self.path.parent)
            shutil.copytree(backup, self.path.parent)

    def copy_folder(self):
        """Go on in a copy of the folder."""
        copy = self.path.parent.with_name(f"copy-{self.moves}")
        shutil.copytree(self.path.parent, copy)
        self.path = copy / self.path.name

    def delete_and_begin_anew(self):
        """Delete the ledger, and call the same line again."""
        self.path.unlink(missing_ok=True)
        try:
            basic_budget(self.path, 0.25 * AFFORDABLE)
        except LedgerError:
            self.refused += 1

    def begin_anew(self):
        try:
            basic_budget(self.path, 0.25 * AFFORDABLE)
        except LedgerError:
            self.refused += 1

    def rename_over(self):
        """Put an old ledger over the newer one, as an editor would."""
        if (backup := self._any_backup()) and (backup / self.path.name).exists():
            shutil.copy2(backup / self.path.name, self.path.with_name("new"))
            self.path.with_name("new").replace(self.path)

    def move(self):
        self.back_up()
        self.moves += 1
        moves = [
            self.restore_ledger,
            self.overwrite_ledger,
            self.restore_folder,
            self.copy_folder,
            self.delete_and_begin_anew,
            self.begin_anew,
            self.rename_over,
        ]
        self.generator.choice(moves)()


@pytest.mark.filterwarnings("ignore:.*count as none")
def test_careless_moves(tmp_path, counts):
    moves = answered = refused = most = 0
    for seed in range(60):
        folder = tmp_path / str(seed)
        folder.mkdir()
        careless = Careless(folder, random.Random(seed))
        careless.backups.mkdir()
        for _ in range(8):
            for _ in range(careless.generator.randrange(4)):
                careless.spend()
            careless.move()
        for _ in range(AFFORDABLE + 1):
            careless.spend()
        moves += careless.moves
        answered += careless.answered
        refused += careless.refused
        most = max(most, careless.answered)
        assert careless.answered <= AFFORDABLE
    counts("moves of ledgers, folders and backups", moves)
    counts("spends that were answered", answered)
    counts("spends and new budgets that were refused", refused)
    counts(f"most answers from a budget of {AFFORDABLE}", most)
    assert most > 3
