"""Real models brought into the home folder, from the hub or, where there is none, from the package index."""
