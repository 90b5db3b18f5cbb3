"""What earlier versions wrote, promised and offered, and that this version still honours it."""
