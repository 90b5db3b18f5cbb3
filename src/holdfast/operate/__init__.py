"""Views for operators: the doctor, the snapshot, the picture of an execution, layouts.

Everything here returns values. The command line, the HTTP API and the console present them;
nothing here prints, formats for a terminal, or knows its caller.
"""
