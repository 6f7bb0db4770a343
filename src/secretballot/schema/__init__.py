"""Private rows are read through the schema of public rows, so that no type tells of all of them.

Internal: estimators, scores and choices read the private rows that they are given with it.
"""

from secretballot.schema._cells import cell_text as cell_text
from secretballot.schema._cells import column_cells as column_cells
from secretballot.schema._cells import date_text as date_text
from secretballot.schema._cells import missing_cells as missing_cells
from secretballot.schema._cells import read_coded_texts as read_coded_texts
from secretballot.schema._cells import read_days as read_days
from secretballot.schema._cells import read_numbers as read_numbers
from secretballot.schema._cells import read_texts as read_texts
from secretballot.schema._cells import text_finder as text_finder
from secretballot.schema._column_bounds import Bounds as Bounds
from secretballot.schema._column_bounds import date_bounds as date_bounds
from secretballot.schema._column_bounds import read_bounds as read_bounds
from secretballot.schema._column_schema import ColumnSchema as ColumnSchema
from secretballot.schema._copy_rows import copy_rows as copy_rows
from secretballot.schema._frames import as_table as as_table
from secretballot.schema._frames import check_table as check_table
from secretballot.schema._frames import column_names as column_names
from secretballot.schema._frames import columns_of as columns_of
from secretballot.schema._frames import container_kind as container_kind
from secretballot.schema._frames import dense_columns as dense_columns
from secretballot.schema._frames import match_order as match_order
from secretballot.schema._frames import public_table as public_table
from secretballot.schema._frames import row_shape as row_shape
from secretballot.schema._frames import sparse_columns as sparse_columns
from secretballot.schema._misfits import warn_misfits as warn_misfits
from secretballot.schema._repeated_rows import warn_repeated_rows as warn_repeated_rows
from secretballot.schema._row_independence import apply_in_halves as apply_in_halves
from secretballot.schema._row_independence import check_row_independence as check_row_independence
from secretballot.schema._row_schema import ReadRows as ReadRows
from secretballot.schema._row_schema import RowSchema as RowSchema
from secretballot.schema._rowwise import RowAnswers as RowAnswers
from secretballot.schema._rowwise import RowCalls as RowCalls
from secretballot.schema._rowwise import private_copies as private_copies
from secretballot.schema._rowwise_check import check_rows_per_call as check_rows_per_call
from secretballot.schema._rowwise_check import choose_calls as choose_calls
from secretballot.schema._undisturbed import one_blas_thread as one_blas_thread
