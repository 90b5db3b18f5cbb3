"""Who calls, for which tenant, and how often."""
