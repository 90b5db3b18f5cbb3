"""The Valkey server: connections, calls, the function library, key names."""
