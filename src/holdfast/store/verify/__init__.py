"""Verify: recompute every index of a store from its records.

`families` says what each key is for: which indexes a record must be in, and which record an entry
of an index belongs to. The rules read through a `View`, so that the same rules check a dump of all
keys, as tests do, and a live store in bounded slices, as `holdfast verify` does.
"""
