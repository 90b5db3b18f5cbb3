"""The host: packs, and what runs the flows in them."""
