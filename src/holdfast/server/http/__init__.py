"""The HTTP machinery: connections, paths, the pipeline of a call, problems, events, documents."""
