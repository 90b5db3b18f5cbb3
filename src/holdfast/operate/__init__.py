"""What operators ask of a store: the doctor, the snapshot, the picture of an execution, layouts.

Everything here returns values. The command line, the HTTP API and the console draw them; nothing
here prints, formats for a terminal, or knows who asks.
"""
