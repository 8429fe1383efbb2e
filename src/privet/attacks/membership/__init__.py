"""Attack on membership: was this person among those whose statistics were published?"""
