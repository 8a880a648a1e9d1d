"""May this release be published? A policy held against a release: each rule with its figure, its threshold and the verdict."""
