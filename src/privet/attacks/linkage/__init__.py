"""Attacks by linkage: records joined with what somebody else knows, and how few facts single people out."""
