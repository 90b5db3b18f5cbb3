"""hf_pack_unseal: see test_remove.py, where a sweep is one story."""
