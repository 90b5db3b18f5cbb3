"""Scripted conversations: the tests of a pack, and what plays them."""
