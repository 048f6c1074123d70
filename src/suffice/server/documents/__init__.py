"""Documents over HTTP: upload, list, show, retire and re-index."""
