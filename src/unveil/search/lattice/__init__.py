"""Full-domain generalisation: every combination of levels is a node of a lattice, which is searched for the best node."""
