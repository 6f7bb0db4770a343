"""What workers of every kind run: in a module of its own, which imports quickly."""

from __future__ import annotations

from tests._fakes import Noisy, votes


def draw(accountant, n_rows=3):
    return accountant.release(Noisy(sigma=40), votes(n_rows)).tolist()


def draw_in_a_worker(accountant, answers):
    answers.put(draw(accountant))
