"""Teachers of private rows in parts: trained and asked where the rows are."""

from secretballot.ensemble.parts._part_shards import PartShards as PartShards
from secretballot.ensemble.parts._prepare_parts import prepare_parts as prepare_parts
from secretballot.ensemble.parts._stored_teachers import StoredTeachers as StoredTeachers
