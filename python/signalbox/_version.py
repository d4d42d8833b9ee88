"""The release, which the build writes here."""

__version__ = "0.0.0"
