"""Private folders: deleted although tasks still write into them, or deletion was cut off."""

import os
from contextlib import suppress

from secretballot._base import _files
from secretballot._base._files import PrivateFolder


def test_a_task_that_still_writes_leaves_nothing(tmp_path, monkeypatch):
    folder, rmdir = PrivateFolder(str(tmp_path)), os.rmdir

    def rmdir_beside_a_task(*arguments, **how):
        with suppress(OSError), open(os.path.join(folder.path, "late"), "wb") as file:
            file.write(b"private")
        rmdir(*arguments, **how)

    with monkeypatch.context() as running:
        running.setattr(os, "rmdir", rmdir_beside_a_task)
        folder.delete()
    assert list(tmp_path.iterdir()) == []


def test_a_deletion_that_was_cut_off_is_finished_by_the_next_folder(tmp_path, monkeypatch):
    folder = PrivateFolder(str(tmp_path))
    with open(os.path.join(folder.path, "rows"), "wb") as file:
        file.write(b"private")
    with monkeypatch.context() as killed:
        killed.setattr(_files.shutil, "rmtree", lambda path, **how: None)
        folder.delete()
    (remaining,) = tmp_path.iterdir()
    (remaining / "lock").unlink()  # which files are deleted first is not known
    other = PrivateFolder(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [os.path.basename(other.path)]
    other.delete()
