"""Puts the rooms above together: what the publications' figures come to, and which data is built in."""
