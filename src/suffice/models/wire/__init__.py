"""Calls to an OpenAI-compatible URL.

A core without I/O builds requests, classifies replies and parses them (`endpoint`, `failures`,
`attempts`, `replies`, `sse`). `blocking` drives it in a thread, `suffice.server.openai.upstream` on
the event loop.
"""
