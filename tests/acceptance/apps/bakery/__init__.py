"""A bakery as a project of Django."""
