"""The MCP server: evidence, gate and checks as tools for a model."""
