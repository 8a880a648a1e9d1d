"""Full-domain generalisation: every combination of levels is a node of a lattice, and the best node is found."""
