"""What an owner declares about a table, and the file that keeps it."""
