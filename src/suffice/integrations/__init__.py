"""Adapters for frameworks: one module each, imported only if the framework is used."""
