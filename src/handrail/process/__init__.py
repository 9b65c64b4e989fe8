"""Other programs: started, heard, and ended with everything they started."""
