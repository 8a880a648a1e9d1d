"""The publications' figures, recomputed from their printed tables, and their experiments on Adult, done again."""

from unveil.reproduce.figures import Agreement, PublishedFigure, Reproduction, agreement, reproduce

__all__ = ["Agreement", "PublishedFigure", "Reproduction", "agreement", "reproduce"]
