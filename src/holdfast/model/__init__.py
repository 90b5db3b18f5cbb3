"""Pure values and rules: no input or output."""
