"""Records that somebody holds: how they are read, chosen and written."""
