"""What does a file of people who do not exist tell of those it was made from? Each attack beside people who took no part."""
