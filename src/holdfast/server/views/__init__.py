"""What bodies and replies look like."""
