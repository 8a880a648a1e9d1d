"""Data that is read batch by batch: counted and rewritten without being held as a whole."""
