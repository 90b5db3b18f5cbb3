"""WASM components: commands of WASI and components of the component model, through wasmtime."""
