"""The one read model: events become rows, which every surface shows and follows."""
