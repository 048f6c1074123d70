"""The review site, served by the gateway under `/ui`: pages made on the server, no build step."""
