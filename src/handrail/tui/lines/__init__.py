"""What the screens show, as lines of pieces: from rows to text. Pure; no module here knows Textual."""
