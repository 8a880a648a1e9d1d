"""Cell suppression: patterns of cells that are not published, so that nobody can compute the sensitive ones."""
