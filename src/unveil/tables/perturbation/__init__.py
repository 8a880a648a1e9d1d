"""Perturbation of tables: every cell is published, and some are not what they were."""
