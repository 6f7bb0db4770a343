"""Examples that take seconds run as they stand, and draw their picture."""

from __future__ import annotations

from pathlib import Path

import pytest
from examples import plot_hospitals, plot_top_k


@pytest.mark.parametrize("example", [plot_hospitals, plot_top_k], ids=lambda each: each.__name__)
def test_an_example_draws_its_picture(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    example.main()
    assert Path(example.PICTURE).stat().st_size > 10_000
    assert str(example.PICTURE) in capsys.readouterr().out
