"""The only package that knows Valkey: everything above it sees typed calls and values."""
