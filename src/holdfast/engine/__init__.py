"""Operations and services over the store."""
