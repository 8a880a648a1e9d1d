"""What can be said with a stated loss of privacy? Counts, sums, means, histograms, marginals and whole tables, through OpenDP."""
