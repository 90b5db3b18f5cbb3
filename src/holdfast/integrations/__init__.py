"""Holdfast beside other libraries. Each package needs the extra of its name."""
