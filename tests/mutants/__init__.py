"""Change the Lua library in small ways, and see whether the tests notice.

    python -m tests.mutants --count 300 --seed 1 --json mutants.json

`drawing` makes the mutants, `reaching` finds which tests run which blocks of Lua, `trials` lets
tests judge a mutant in a process that has everything imported.
"""
