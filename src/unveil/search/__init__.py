"""Choose a protection: lattice search, Mondrian, guided by the Discrimination Rate."""
