"""Recodings finer than full-domain generalisation: parts of the table get labels of their own."""
