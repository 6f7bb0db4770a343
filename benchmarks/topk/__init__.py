"""Private top-k: what is found of the true top, by method; the published figures beside it."""
