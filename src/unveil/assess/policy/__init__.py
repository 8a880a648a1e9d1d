"""May this release be published? A policy applied to a release: each rule with its figure, its threshold and its outcome."""
