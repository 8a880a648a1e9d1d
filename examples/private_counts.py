"""Publish counts with differential privacy: bins that are declared beforehand, a budget, and noise. Needs the extra `dp`."""

import unveil
from unveil import mechanisms

DATA = unveil.datasets.load("adult")  # your data frame

answer = mechanisms.dp_histogram(DATA, "age", edges=[0, 30, 45, 60, 120], epsilon=1.0)
print(answer.to_frame())
