"""What does a file of people who do not exist reveal about those it was made from? Each attack is compared with a hold-out."""
