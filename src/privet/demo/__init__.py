"""The stories that `privet demo` tells."""
