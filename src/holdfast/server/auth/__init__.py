"""Identify callers, confine them to their tenant, and limit their rates."""
