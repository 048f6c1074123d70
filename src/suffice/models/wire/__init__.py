"""Calls an OpenAI-compatible URL.

endpoint  the URL: the request to send, and errors about it
replies   parsing of replies and streams
client    the calls, over a transport that blocks or runs on an event loop
"""
