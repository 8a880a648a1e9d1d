"""What does a file of people who do not exist say about those it was made from? Each attack is compared with a hold-out."""
