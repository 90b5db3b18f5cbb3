"""The public API as users write it, for type checkers."""
