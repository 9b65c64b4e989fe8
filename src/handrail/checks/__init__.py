"""One file a kind of check: something Handrail verifies itself."""
