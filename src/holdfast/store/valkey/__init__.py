"""What knows the server: connections, calls, the function library, key names."""
