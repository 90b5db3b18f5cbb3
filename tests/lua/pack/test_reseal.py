"""hf_pack_reseal: see test_remove.py, where a sweep is one story."""
