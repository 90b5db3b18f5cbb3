"""What the state machines share: the store and a plain model get the same calls and must agree."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from holdfast.errors import HoldfastError
from holdfast.store.store import Store
from tests.property.world import World


class Refused(Exception):
    """The model refuses a call, with this code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class ComparingMachine(RuleBasedStateMachine):
    """Every rule calls the store and the model alike, and compares their answers."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        world.run(world.reset())

    @property
    def store(self) -> Store:
        """The store that is open now."""
        return self.world.store

    def _agree(self, call: Coroutine[Any, Any, Any], expect: Callable[[], Any]) -> Any:
        """Call the store; its answer or refusal must be the model's. Returns it."""
        try:
            actual: Any = self.world.run(call)
        except HoldfastError as error:
            actual = error.code
        try:
            expected = expect()
        except Refused as refusal:
            expected = refusal.code
            self._after_refusal()
        assert actual == expected
        return actual

    def _after_refusal(self) -> None:
        """Check what must hold after a refusal."""

    @rule(lossy=st.booleans())
    def set_network(self, *, lossy: bool) -> None:
        """From now on every call loses its first reply and is sent again, or no longer."""
        self.world.caller.lossy = lossy
