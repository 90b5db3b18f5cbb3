"""What must always hold for the stored data (DESIGN, section 5: 1 to 5, 9): see `verify`."""

from holdfast.store.verify.checking import violations

__all__ = ["violations"]
