"""The shapes of request bodies and replies."""
