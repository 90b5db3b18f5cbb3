"""The SDK: declare tasks, run them durably, wait for their results."""
