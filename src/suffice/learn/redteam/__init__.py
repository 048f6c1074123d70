"""Red teaming: attacks generated from the user's own documents, each with a harmless twin."""
