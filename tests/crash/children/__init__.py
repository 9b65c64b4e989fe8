"""Programs that the crash tests start: the file layer that does harm, the driver of command lines, the work."""
