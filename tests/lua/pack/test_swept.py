"""hf_pack_swept: see test_remove.py, where a sweep is one story."""
