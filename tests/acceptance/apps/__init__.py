"""Small apps that acceptance tests run in worker processes."""
