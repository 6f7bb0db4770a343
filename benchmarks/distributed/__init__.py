"""Private rows in parts on Dask: time, memory, growth."""
