"""Pure values and rules, without I/O."""
