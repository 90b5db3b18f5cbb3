"""What commands that run a worker share: loading an app, serving it, reloading it."""
