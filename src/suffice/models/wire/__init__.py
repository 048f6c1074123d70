"""Calls an OpenAI-compatible URL.

Code without I/O builds requests, and classifies and parses replies (`endpoint`, `failures`,
`attempts`, `replies`, `sse`). `blocking` runs it in a thread, and `suffice.server.openai.upstream`
on the event loop.
"""
