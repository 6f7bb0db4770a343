"""What `fit` takes beside a bare loop over the same teachers."""
