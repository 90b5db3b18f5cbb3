"""The command line, `holdfast`: one module per noun, assembled by `main`."""
