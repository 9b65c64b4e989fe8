"""Text that people wrote → located trees → checked values, and every problem with its place."""
