"""hf_pack_unused: see test_remove.py, where a sweep is one story."""
