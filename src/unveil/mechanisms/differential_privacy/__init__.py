"""What can be published with a stated loss of privacy? Counts, sums, means, histograms, marginals and tables, by OpenDP."""
