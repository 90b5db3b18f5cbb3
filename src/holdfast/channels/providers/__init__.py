"""The providers, one module each, with `PROVIDER`. docs/channels.md shows how to add one."""
