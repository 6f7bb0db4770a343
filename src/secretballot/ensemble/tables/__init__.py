"""Tables of numbers, texts and dates as features, by public rows alone."""

from secretballot.ensemble.tables._table_encoder import TableEncoder, make_table_pipeline

__all__ = ["TableEncoder", "make_table_pipeline"]
