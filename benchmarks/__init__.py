"""What a user would do instead, and how much slower it is: ratios measured in one run.

`make bench` prints them. Absolute times depend on the machine; a ratio of two processor times taken one after the other on
the same machine is what can be compared.
"""
