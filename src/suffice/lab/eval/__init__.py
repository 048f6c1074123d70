"""Quality of the whole path and of its parts on labelled data."""
