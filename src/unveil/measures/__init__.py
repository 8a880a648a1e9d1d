"""From count tables to numbers: entropy, the Discrimination Rate, distances, uniqueness and risk."""
