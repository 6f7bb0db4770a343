"""Private rows of a fit: checked, and read and added up in memory or in parts."""

from secretballot.linear.input._fit_columns import FitColumns as FitColumns
from secretballot.linear.input._fit_columns import declared_columns as declared_columns
from secretballot.linear.input._fit_columns import public_columns_of as public_columns_of
from secretballot.linear.input._fit_input import FitInput as FitInput
from secretballot.linear.input._fit_input import Population as Population
from secretballot.linear.input._fit_input import Validate as Validate
from secretballot.linear.input._fit_input import check_public_table as check_public_table
from secretballot.linear.input._fit_input import read_tables as read_tables
from secretballot.linear.input._monotonic_cst import read_directions as read_directions
from secretballot.linear.input._monotonic_cst import refuse_categories as refuse_categories
from secretballot.linear.input._parts_input import read_parts as read_parts
from secretballot.linear.input._read_answer import AnswerReader as AnswerReader
from secretballot.linear.input._read_answer import ClassReader as ClassReader
from secretballot.linear.input._read_answer import NumberReader as NumberReader
from secretballot.linear.input._settings import ColumnSettings as ColumnSettings
from secretballot.linear.input._settings import Settings as Settings
