"""Soak: hours of steady load with faults, after which nothing has grown and nothing is lost."""
