"""Holdfast: durable execution for Python. Work that is accepted is held fast until it is done."""
