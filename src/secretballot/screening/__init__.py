"""Mistakes that would cost a budget, found before it is spent.

What is imported as itself is for other folders of the library, not for users.
"""

from secretballot.screening._cells_outside import cells_outside as cells_outside
from secretballot.screening._copies import CopiedMixin as CopiedMixin
from secretballot.screening._copies import check_copy as check_copy
from secretballot.screening._declared_columns import check_kind_of_bounds as check_kind_of_bounds
from secretballot.screening._declared_columns import (
    check_readable_numbers as check_readable_numbers,
)
from secretballot.screening._declared_columns import count_readable as count_readable
from secretballot.screening._declared_columns import refuse_unreadable as refuse_unreadable
from secretballot.screening._declared_columns import undeclared_cells as undeclared_cells
from secretballot.screening._file_columns import check_file_columns as check_file_columns
from secretballot.screening._file_columns import check_header as check_header
from secretballot.screening._noisy_count import MOST_SHARE as MOST_SHARE
from secretballot.screening._noisy_count import release_largest_count as release_largest_count
from secretballot.screening._noisy_count import share_after as share_after
from secretballot.screening._noisy_count import share_of as share_of
from secretballot.screening._private_extremes import count_at_bounds as count_at_bounds
from secretballot.screening._private_extremes import warn_extreme_counts as warn_extreme_counts
from secretballot.screening._private_extremes import (
    warn_private_extremes as warn_private_extremes,
)
from secretballot.screening._public_rows_check import PublicRowsCheck as PublicRowsCheck
from secretballot.screening._public_rows_check import people_outside as people_outside
from secretballot.screening._public_rows_check import totals_outside as totals_outside
from secretballot.screening._shared_rows import check_no_shared_rows as check_no_shared_rows
from secretballot.screening._table_kinds import check_table_kinds as check_table_kinds
from secretballot.screening._target_column import check_target_left_out as check_target_left_out
