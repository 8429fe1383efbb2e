"""Attack on anonymized records: groups that share a secret, and two releases together."""
