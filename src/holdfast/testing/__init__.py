"""Helpers for tests: real servers, a clock that can be set, waiting without sleeping."""
