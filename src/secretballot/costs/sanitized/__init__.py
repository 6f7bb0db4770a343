"""Data-dependent cost of known votes, in a form that may be published."""

from secretballot.costs.sanitized._gap_record import dump_gap_records as dump_gap_records
from secretballot.costs.sanitized._gap_record import load_gap_records as load_gap_records
from secretballot.costs.sanitized._gap_record import record_gaps as record_gaps
from secretballot.costs.sanitized._margin import GapCosts as GapCosts
from secretballot.costs.sanitized._margin import Margin as Margin
