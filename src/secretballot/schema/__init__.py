"""Private rows are read through the schema of public rows, so that no type tells of all of them.

Internal: estimators, scores and choices read the private rows that they are given with it.
"""

from secretballot.schema._cells import cell_text as cell_text
from secretballot.schema._cells import missing_cells as missing_cells
from secretballot.schema._cells import numbers as numbers
from secretballot.schema._cells import texts as texts
from secretballot.schema._column_schema import ColumnSchema as ColumnSchema
from secretballot.schema._frames import as_table as as_table
from secretballot.schema._frames import check_table as check_table
from secretballot.schema._frames import column_names as column_names
from secretballot.schema._frames import columns_of as columns_of
from secretballot.schema._misfits import warn_misfits as warn_misfits
from secretballot.schema._own_rows import own_rows as own_rows
from secretballot.schema._row_schema import ReadRows as ReadRows
from secretballot.schema._row_schema import RowSchema as RowSchema
from secretballot.schema._rows_alone import check_rows_alone as check_rows_alone
from secretballot.schema._rows_alone import in_halves as in_halves
