"""WASM programs for tests, as text: no compiler is needed."""

from __future__ import annotations

import wasmtime

#: Imports that programs choose from, by name.
_IMPORTS = {
    "fd_read": '(import "wasi_snapshot_preview1" "fd_read"'
    " (func $fd_read (param i32 i32 i32 i32) (result i32)))",
    "fd_write": '(import "wasi_snapshot_preview1" "fd_write"'
    " (func $fd_write (param i32 i32 i32 i32) (result i32)))",
    "proc_exit": '(import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))',
    "path_open": '(import "wasi_snapshot_preview1" "path_open" (func $path_open'
    " (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))",
    "sock_accept": '(import "wasi_snapshot_preview1" "sock_accept"'
    " (func $sock_accept (param i32 i32 i32) (result i32)))",
    "environ_sizes_get": '(import "wasi_snapshot_preview1" "environ_sizes_get"'
    " (func $environ_sizes_get (param i32 i32) (result i32)))",
    "environ_get": '(import "wasi_snapshot_preview1" "environ_get"'
    " (func $environ_get (param i32 i32) (result i32)))",
    "poll_oneoff": '(import "wasi_snapshot_preview1" "poll_oneoff"'
    " (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))",
    "call": '(import "holdfast" "call" (func $call (param i32 i32) (result i32)))',
    "take": '(import "holdfast" "take" (func $take (param i32 i32) (result i32)))',
}
#: Writes LEN bytes at PTR to the output.
_WRITE = """
  (func $write (param $ptr i32) (param $len i32)
    (i32.store (i32.const 0) (local.get $ptr))
    (i32.store (i32.const 4) (local.get $len))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))"""


def escaped(text: str) -> str:
    """Return a text as WAT writes it."""
    return "".join(f"\\{byte:02x}" for byte in text.encode())


def command(body: str, *imports: str, data: str = "", pages: int = 4, more: str = "") -> bytes:
    """Return a command; `data` is at 1024, and `$write` writes to the output."""
    names = dict.fromkeys(("fd_write", *imports))
    text = f"""(module
      {" ".join(_IMPORTS[name] for name in names)}
      (memory (export "memory") {pages})
      (data (i32.const 1024) "{escaped(data)}")
      {_WRITE}
      {more}
      (func (export "_start") {body}))"""
    return bytes(wasmtime.wat2wasm(text))


def saying(output: str) -> bytes:
    """Return a command with a fixed output."""
    return command(
        f"(call $write (i32.const 1024) (i32.const {len(output.encode())}))", data=output
    )


def asking(request: str) -> bytes:
    """Return a command that asks the host, and whose output is the answer."""
    size = len(request.encode())
    return command(
        f"""(local $size i32)
        (local.set $size (call $call (i32.const 1024) (i32.const {size})))
        (call $write (i32.const 65536) (call $take (i32.const 65536) (i32.const 100000)))""",
        "call",
        "take",
        data=request,
    )


def insisting(request: str) -> bytes:
    """Return a command that asks the host, and fails whatever the answer is."""
    size = len(request.encode())
    return command(
        f"""(drop (call $call (i32.const 1024) (i32.const {size})))
        (call $proc_exit (i32.const 1))""",
        "call",
        "proc_exit",
        data=request,
    )


#: Its output is its input.
ECHO = command(
    """(i32.store (i32.const 0) (i32.const 1024))
    (i32.store (i32.const 4) (i32.const 200000))
    (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (call $write (i32.const 1024) (i32.load (i32.const 8)))""",
    "fd_read",
)
LOOP = command("(loop $again (br $again))")
TRAP = command("unreachable")
DIVIDE = command("(drop (i32.div_s (i32.const 1) (i32.const 0)))")
EXIT = command("(call $proc_exit (i32.const 3))", "proc_exit")
#: Leaves out a byte of its last character, and fails.
MIXED = command(
    """(call $write (i32.const 1024) (i32.const 12))
    (call $write (i32.const 1037) (i32.const 2))
    (call $proc_exit (i32.const 1))""",
    "proc_exit",
    data='{"error": "ö"}',
)
#: Calls the host without end.
CHAT = command("(loop $again (call $write (i32.const 0) (i32.const 0)) (br $again))")
DEEP = command("(call $deep)", more="(func $deep (call $deep))")
#: Takes memory until there is no more, and then aborts, as allocators do.
BOMB = command(
    """(loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    unreachable"""
)
#: Writes without end.
FLOOD = command("(loop $again (call $write (i32.const 1024) (i32.const 65536)) (br $again))")
#: Opens the first preopened folder, and fails if it cannot.
FILE = command(
    """(if (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 10)
      (i32.const 0) (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 16))
      (then (call $proc_exit (i32.const 1))))
    (i32.store (i32.const 0) (i32.const 2048))
    (i32.store (i32.const 4) (i32.const 1000))
    (drop (call $fd_read (i32.load (i32.const 16)) (i32.const 0) (i32.const 1) (i32.const 8)))
    (call $write (i32.const 2048) (i32.load (i32.const 8)))""",
    "path_open",
    "proc_exit",
    "fd_read",
    data="facts.json",
)
SOCKET = command(
    """(if (call $sock_accept (i32.const 3) (i32.const 0) (i32.const 16))
      (then (call $proc_exit (i32.const 1))))""",
    "sock_accept",
    "proc_exit",
)
#: Its output is the list of its variables.
ENVIRON = command(
    """(drop (call $environ_sizes_get (i32.const 16) (i32.const 20)))
    (drop (call $environ_get (i32.const 4096) (i32.const 2049)))
    (i32.store8 (i32.const 2048) (i32.const 34))
    (if (i32.eqz (i32.load (i32.const 20)))
      (then
        (i32.store8 (i32.const 2049) (i32.const 34))
        (call $write (i32.const 2048) (i32.const 2)))
      (else
        (i32.store8 (i32.add (i32.const 2048) (i32.load (i32.const 20))) (i32.const 34))
        (call $write (i32.const 2048) (i32.add (i32.load (i32.const 20)) (i32.const 1)))))""",
    "environ_sizes_get",
    "environ_get",
)
#: Sleeps for a very long time: no instruction runs meanwhile.
SLEEP = command(
    """(i64.store (i32.const 4096) (i64.const 7))
    (i32.store (i32.const 4112) (i32.const 1))
    (i64.store (i32.const 4120) (i64.const 1000000000000000))
    (drop (call $poll_oneoff (i32.const 4096) (i32.const 8192) (i32.const 1) (i32.const 16)))
    (loop $again (br $again))""",
    "poll_oneoff",
)


#: Gives the host places that are not in its memory, and goes on.
WILD = command(
    """(drop (call $fd_write (i32.const 1) (i32.const -1) (i32.const 1) (i32.const 8)))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const -1) (i32.const 8)))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const -4)))
    (drop (call $fd_write (i32.const 7) (i32.const 0) (i32.const 0) (i32.const 8)))
    (i32.store (i32.const 0) (i32.const -8))
    (i32.store (i32.const 4) (i32.const 64))
    (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8)))
    (drop (call $poll_oneoff (i32.const -1) (i32.const 0) (i32.const 1) (i32.const 8)))
    (drop (call $poll_oneoff (i32.const 4096) (i32.const -1) (i32.const 1) (i32.const 8)))
    (drop (call $poll_oneoff (i32.const 4096) (i32.const 0) (i32.const -1) (i32.const 8)))
    (drop (call $call (i32.const -1) (i32.const -1)))
    (drop (call $call (i32.const 0) (i32.const 0x7fffffff)))
    (drop (call $call (i32.const 0) (i32.const 0)))
    (drop (call $take (i32.const -1) (i32.const 1000)))
    (drop (call $take (i32.const 0) (i32.const -1)))
    (call $write (i32.const 1024) (i32.const 4))""",
    "poll_oneoff",
    "call",
    "take",
    data="true",
)


def component(body: str, *, uses_host: bool = False) -> bytes:
    """Return a component whose `invoke` runs a body; `$input` and `$size` are its input.

    The body leaves where its result is: tag, pointer and size at 16. `$call` asks the host.
    """
    host = lowered = given = imports = ""
    if uses_host:
        host = """(import "holdfast:component/host" (instance $host
          (export "call" (func (param "request" string) (result string)))))"""
        lowered = """(core func $lowered (canon lower (func $host "call")
          (memory (core memory $memory)) (realloc (core func $libc "realloc"))))"""
        given = '(with "host" (instance (export "call" (func $lowered))))'
        imports = '(import "host" "call" (func $call (param i32 i32 i32)))'
    text = f"""(component
      {host}
      (core module $Libc
        (memory (export "memory") 4)
        (global $next (mut i32) (i32.const 4096))
        (func (export "realloc") (param i32 i32 i32 i32) (result i32)
          (global.get $next)
          (global.set $next (i32.add (global.get $next) (local.get 3)))))
      (core instance $libc (instantiate $Libc))
      (alias core export $libc "memory" (core memory $memory))
      {lowered}
      (core module $Main
        {imports}
        (import "libc" "memory" (memory 4))
        (func (export "invoke") (param i32 i32) (param $input i32) (param $size i32) (result i32)
          {body}
          (i32.const 16)))
      (core instance $main (instantiate $Main (with "libc" (instance $libc)) {given}))
      (func (export "invoke") (param "operation" string) (param "input" string)
        (result (result string (error string)))
        (canon lift (core func $main "invoke")
          (memory (core memory $memory)) (realloc (core func $libc "realloc")))))"""
    return bytes(wasmtime.wat2wasm(text))


#: A component whose output is its input.
ECHO_COMPONENT = component(
    """(i32.store8 (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (local.get $input))
    (i32.store (i32.const 24) (local.get $size))"""
)
#: A component that fails, with its input as the reason.
REFUSING_COMPONENT = component(
    """(i32.store8 (i32.const 16) (i32.const 1))
    (i32.store (i32.const 20) (local.get $input))
    (i32.store (i32.const 24) (local.get $size))"""
)
LOOP_COMPONENT = component("(loop $again (br $again))")
#: A component that passes its input to the host, and returns the answer.
ASKING_COMPONENT = component(
    """(call $call (local.get $input) (local.get $size) (i32.const 20))
    (i32.store8 (i32.const 16) (i32.const 0))""",
    uses_host=True,
)
