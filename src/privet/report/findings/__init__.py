"""How the findings of attacks are shown."""
