"""What does a file of people who do not exist tell about those it was made from? Each attack beside people who took no part."""
