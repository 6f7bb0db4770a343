"""Private rows in parts on Dask: time and memory."""
