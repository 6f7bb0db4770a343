"""Tables of numbers, texts and dates as features, by public rows alone."""

from secretballot.ensemble.tables._table_encoder import TableEncoder as TableEncoder
from secretballot.ensemble.tables._table_encoder import make_table_pipeline as make_table_pipeline
