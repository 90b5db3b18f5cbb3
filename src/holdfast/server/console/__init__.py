"""The web console: its page."""
