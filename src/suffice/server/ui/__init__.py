"""The review site under `/ui`: server-rendered pages without a build step."""
