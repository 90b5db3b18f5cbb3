"""Two versions of Holdfast on one store."""
