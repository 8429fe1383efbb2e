"""Charts and reports for people. Untrusted: never imported by the rooms that make the guarantee."""
