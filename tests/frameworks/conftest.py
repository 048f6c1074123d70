"""The frameworks' environments lack what the other tests need: this is the only conftest there."""

from tests.network import no_network

__all__ = ["no_network"]
