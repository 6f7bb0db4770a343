"""Several labels a row: what voting on all of them takes and costs."""
