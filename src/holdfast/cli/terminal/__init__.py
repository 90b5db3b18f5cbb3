"""Code that all commands share: options, input, output, errors, opening a store."""
