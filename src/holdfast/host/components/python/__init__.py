"""Python components: code of trusted packs, in processes of its own."""
