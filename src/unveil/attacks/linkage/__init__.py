"""Whose record is this? Attacks that link the records of a release to those of a file that names people."""
