"""May this release leave the house? A policy held against a release: each rule with its figure, its threshold and the verdict."""
