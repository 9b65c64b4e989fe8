"""One file an agent: how we call it, how it calls us, what its tools are called."""
