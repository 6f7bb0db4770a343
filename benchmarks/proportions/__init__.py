"""How far published label proportions are from the true ones, by mechanism."""
