"""Private rows of a fit: checked, and read and added up in memory or in parts."""

from secretballot.linear.input._fit_input import FitInput as FitInput
from secretballot.linear.input._fit_input import check_input as check_input
from secretballot.linear.input._fit_input import check_public_table as check_public_table
from secretballot.linear.input._fit_input import checked_bounds as checked_bounds
from secretballot.linear.input._fit_input import declared_bounds as declared_bounds
from secretballot.linear.input._fit_input import declared_categories as declared_categories
from secretballot.linear.input._monotonic_cst import refuse_categories as refuse_categories
from secretballot.linear.input._parts_input import check_parts as check_parts
