"""The wire formats: one file each, and one for its stream where that is long."""
