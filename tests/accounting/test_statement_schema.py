"""The JSON Schema of statements: every kind of budget fits it, and nothing else does."""

import copy
import json
import math
import warnings

import pytest
from tests._fakes import Gaussian, Grouped, Known, Pure, basic_budget, spend, votes

from secretballot.accounting import PrivacyAccountant, PrivacyLeakWarning, PrivacyStatement
from secretballot.ledger._ledger import Ledger
from secretballot.mechanisms import GNMax

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is for tests")

SCHEMA = PrivacyStatement.json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def quietly(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return PrivacyAccountant(*args, **kwargs)


def gaussian(tmp_path):
    accountant = PrivacyAccountant(1.0, 1e-5, ledger=tmp_path / "named.ledger")
    reservation = accountant.reserve(GNMax(sigma=40.0), 4, n_columns=2)
    accountant.release(GNMax(sigma=40.0), votes(1), reservation=reservation)
    accountant.settle(reservation)
    return accountant.statement()


def levels(tmp_path):
    accountant = PrivacyAccountant(
        {"strict": 1.0, "lax": 3.0}, 1e-5, unit="owner", relation="replace", order="renyi"
    )
    accountant.release(Gaussian(sigma=40), votes(5), note={"n_counted": 5, "a": [1, {"b": None}]})
    accountant.release(Grouped(rates={"strict": 1e-4, "lax": 3e-4}), votes(2))
    return accountant.statement()


def pairs(tmp_path):
    accountant = basic_budget()
    spend(accountant)
    return accountant.statement()


def data_dependent(tmp_path):
    accountant = quietly(1.0, 1e-5, order="renyi", accounting="data_dependent")
    accountant.release(Known(most=1.0), [[5.0, 1e-4], [4.0, 2e-4]])
    return accountant.statement()


def sanitized(tmp_path):
    return PrivacyAccountant(1.0, 1e-5, accounting="sanitized", relation="add_remove").statement()


def seeded(tmp_path):
    accountant = basic_budget()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        accountant.release(Pure(epsilon=0.25), votes(1), random_state=0)
    return accountant.statement()


def one_order(tmp_path):
    accountant = PrivacyAccountant(1.0, 1e-5, order=20.0)
    accountant.release(Gaussian(sigma=40), votes(1))
    return accountant.statement()


def copied(tmp_path):
    spend(basic_budget(tmp_path / "a.ledger"))
    (tmp_path / "b.ledger").write_bytes((tmp_path / "a.ledger").read_bytes())
    return PrivacyStatement.of(Ledger.open(tmp_path / "b.ledger"))


KINDS = [gaussian, levels, pairs, data_dependent, sanitized, seeded, one_order, copied]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def statement(request, tmp_path):
    return request.param(tmp_path)


def objects(values, path=()):
    """Yield the paths of dicts whose fields the schema fixes."""
    if path and path[-1] in ("mechanism", "note"):
        return
    if isinstance(values, dict):
        yield path
    if isinstance(values, dict | list):
        items = values.items() if isinstance(values, dict) else enumerate(values)
        for key, value in items:
            yield from objects(value, (*path, key))


def at(values, path):
    for key in path:
        values = values[key]
    return values


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_every_field_is_described():
    def described(node):
        for name, field in node.get("properties", {}).items():
            assert field.get("description"), name
            described(field)

    described(SCHEMA)
    for name in ("level", "release"):
        described(SCHEMA["$defs"][name])
        assert SCHEMA["$defs"][name]["description"]


def test_statements_fit(statement):
    values = statement.to_dict()
    VALIDATOR.validate(values)
    # As it travels.
    received = json.loads(json.dumps(values))
    VALIDATOR.validate(received)
    assert PrivacyStatement.from_dict(received) == statement
    assert str(PrivacyStatement.from_dict(received)) == str(statement)


def test_a_field_that_is_missing_or_added_does_not_fit(statement):
    values = statement.to_dict()
    paths = list(objects(values))
    assert len(paths) >= 3
    for path in paths:
        for name in at(values, path):
            changed = copy.deepcopy(values)
            del at(changed, path)[name]
            assert not VALIDATOR.is_valid(changed), (*path, name)
        changed = copy.deepcopy(values)
        at(changed, path)["another"] = None
        assert not VALIDATOR.is_valid(changed), path


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("head",), "0" * 64),
        (("levels", 0, "share_spent"), 0.5),
        (("levels", 0, "epsilon_spent"), 0.5),
        (("levels", 0, "best_guess"), 0.5),
        (("levels", 0, "ninefold_rise"), 0.5),
        (("released", 0, "n_rows"), 2),
        (("released", 0, "mechanism"), {"mechanism": "Known", "most": 1.0}),
    ],
)
def test_what_a_data_dependent_budget_withholds(tmp_path, path, value):
    values = data_dependent(tmp_path).to_dict()
    at(values, path[:-1])[path[-1]] = value
    assert not VALIDATOR.is_valid(values)


def test_what_others_may_not_withhold(tmp_path):
    for path in (("head",), ("levels", 0, "share_spent"), ("released", 0, "n_rows")):
        values = pairs(tmp_path).to_dict()
        at(values, path[:-1])[path[-1]] = None
        assert not VALIDATOR.is_valid(values)


@pytest.mark.parametrize("change", [{"format": "x"}, {"version": 2}, {"format": None}])
def test_other_formats_and_versions_are_refused(change):
    values = {**basic_budget().statement().to_dict(), **change}
    with pytest.raises(ValueError, match="or of another version of secretballot"):
        PrivacyStatement.from_dict(values)
    assert not VALIDATOR.is_valid(values)


def test_fields_missing_and_added_are_refused():
    values = basic_budget().statement().to_dict()
    with pytest.raises(ValueError, match=r"\['more'\] are missing or unknown"):
        PrivacyStatement.from_dict({**values, "more": 1})
    del values["unit"]
    with pytest.raises(ValueError, match=r"\['unit'\] are missing or unknown"):
        PrivacyStatement.from_dict(values)
    with pytest.raises(ValueError, match="format=None"):
        PrivacyStatement.from_dict({})


def test_an_overspent_budget_fits(tmp_path):
    values = basic_budget().statement().to_dict()
    values["levels"][0] |= {"share_spent": 1.5, "best_guess": None, "ninefold_rise": None}
    VALIDATOR.validate(values)


# Names of the registry's fields, by group.
REGISTRY = {
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        *("privacy_unit", "privacy_unit_details"),
        *("privacy_parameters", "privacy_parameters_details"),
    },
    "accounting": {"post_processing", "composition"},
    "implementation": {
        *("preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"),
    },
}


def test_fields_of_the_registry(tmp_path):
    for kind in (gaussian, levels, pairs, sanitized, seeded):
        statement = kind(tmp_path)
        fields = statement.to_registry()
        assert fields.keys() == REGISTRY.keys()
        for group, values in fields.items():
            assert values.keys() <= REGISTRY[group]
            for name, value in values.items():
                assert value
                assert isinstance(value, dict if name == "privacy_parameters" else str)
        assert fields["privacy_loss"]["privacy_parameters"] == {
            "epsilon": max(level["epsilon"] for level in statement.levels),
            "delta": statement.levels[0]["delta"],
        }
        assert fields["privacy_loss"]["privacy_unit"] == statement.unit
    assert "REPRODUCIBLE" in fields["dp_variant"]["unprotected_quantities"].upper()


def test_nothing_to_register_without_a_guarantee(tmp_path):
    with pytest.raises(ValueError, match="no epsilon to register"):
        data_dependent(tmp_path).to_registry()
    values = pairs(tmp_path).to_dict()
    values["levels"][0]["share_spent"] = 1.5
    with pytest.raises(ValueError, match="overspent: its epsilon does not hold"):
        PrivacyStatement.from_dict(values).to_registry()


def test_infinite_readings_are_text():
    values = basic_budget().statement().to_dict()
    values["levels"][0]["epsilon_spent"] = "inf"
    VALIDATOR.validate(values)
    assert float(values["levels"][0]["order"]) == math.inf
    values["levels"][0]["epsilon_spent"] = "much"
    assert not VALIDATOR.is_valid(values)
