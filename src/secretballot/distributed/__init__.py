"""Private rows in parts that no machine holds together, on Dask, Spark or joblib.

What is imported as itself is for other folders of the library, not for users.
"""

from secretballot._public import published
from secretballot.distributed._buckets import BucketRows as BucketRows
from secretballot.distributed._buckets import Buckets as Buckets
from secretballot.distributed._buckets import read_bucket as read_bucket
from secretballot.distributed._engine import Engine as Engine
from secretballot.distributed._exchange import Division as Division
from secretballot.distributed._exchange import Exchange as Exchange
from secretballot.distributed._exchange import OwnerHashes as OwnerHashes
from secretballot.distributed._part_counts import count_groups as count_groups
from secretballot.distributed._private_parts import PrivateParts as PrivateParts
from secretballot.distributed._tasks import PartError as PartError
from secretballot.distributed._tasks import map_tasks as map_tasks
from secretballot.distributed._tasks import target_errors as target_errors

__all__ = ["Engine", "PrivateParts"]

published(globals())
