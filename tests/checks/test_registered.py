"""The audits of `make audit`: every registered mechanism at full size."""

import re
from pathlib import Path

import pytest
from tests.checks import _audit_table as table_module
from tests.checks._audit_table import audit_table
from tests.checks._ensembles import ENSEMBLES
from tests.checks._registry import EXAMPLES

from secretballot.testing._mechanism_checks import audit_example

PAGE = Path(__file__).resolve().parents[2] / "docs" / "theory" / "audit-table.md"


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_million_draws(name):
    example = EXAMPLES[name]
    audit = audit_example(example, n_draws=1_000_000, random_state=7)
    audit.check()
    assert audit.share >= example.tightness


def lines_of(page):
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_table_has_every_mechanism_and_the_ensembles():
    lines = lines_of(PAGE.read_text(encoding="utf-8"))
    named = {re.match(r"`(\w+)\(", line[0])[1] for line in lines if line[0].startswith("`")}
    missing = {type(example.mechanism).__name__ for example in EXAMPLES.values()} - named
    assert not missing, f"run `make audit` and commit {PAGE.name}: it has no {sorted(missing)}"
    assert sum("PrivateTeacherEnsemble" in line[0] for line in lines) == 4
    for release, _, claim, bound, exact, ratio in lines:
        assert float(bound) <= float(claim), release
        assert not exact or float(bound) <= float(exact) <= float(claim), release
        assert float(ratio) == pytest.approx(float(bound) / float(claim), abs=0.01)


# An ensemble is fitted for each of many neighbours: seconds, for the claim of its mechanism.
@pytest.mark.parametrize("ensembles", [{}, pytest.param(ENSEMBLES, marks=pytest.mark.slow)])
def test_the_table_has_the_claims_of_today(ensembles, monkeypatch):
    # Claims don't depend on draws; which pair tells most may.
    def claims(page):
        lines = [line for line in lines_of(page) if ensembles or "PrivateTeacher" not in line[0]]
        return {line[0] for line in lines}, {tuple(line[:2]): line[2] for line in lines}

    monkeypatch.setattr(table_module, "ENSEMBLES", ensembles)
    computed, committed = claims(audit_table(2000)), claims(PAGE.read_text("utf-8"))
    assert computed[0] == committed[0], f"run `make audit` and commit {PAGE.name}"
    same = computed[1].keys() & committed[1].keys()
    assert len(same) >= 4
    assert {key: computed[1][key] for key in same} == {key: committed[1][key] for key in same}


def test_a_refuted_claim_stops_the_table(monkeypatch):
    def refuted(*args, **kwargs):
        audit = audit_example(*args, **kwargs)
        pair = audit.pairs[0]
        object.__setattr__(pair, "claim", pair.lower_bound / 2)
        return audit

    monkeypatch.setattr(table_module, "audit_example", refuted)
    with pytest.raises(AssertionError, match="is claimed at delta"):
        audit_table(20_000)
