"""What a user would do instead of calling `unveil`, and how much slower that is: ratios measured in one run.

`make bench` prints them. Absolute times depend on the machine; what can be compared is the ratio of two processor times taken one
after the other on the same machine.
"""
