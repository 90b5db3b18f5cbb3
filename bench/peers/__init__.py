"""Holdfast beside the queues and engines that users would otherwise choose, in one run."""
