"""Flows: conversations and jobs written as YAML."""
