"""The command line: `holdfast`. One module per noun; `main` puts them together."""
