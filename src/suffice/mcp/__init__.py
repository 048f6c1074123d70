"""The MCP server: search, gate and checks as tools for a model."""
