"""What ``nonoka init`` writes into a project: the files here, as they are."""
