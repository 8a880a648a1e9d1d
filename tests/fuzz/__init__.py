"""A fuzzer of our own: every public call and every verb, over tables of every type, with right arguments and wrong ones.

A case is a number: the same number draws the same table, call and arguments. `PYTHONPATH=tests python -m fuzz --case N` shows one.
"""
