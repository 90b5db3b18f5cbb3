"""The documentation site: pages of docs/, and pages that are generated from the source.

Everything here makes Markdown; `tools/build_docs.py` writes it and runs mkdocs.
"""
