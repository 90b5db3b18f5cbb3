"""Code that commands which run a worker share: loading, serving and reloading an app."""
