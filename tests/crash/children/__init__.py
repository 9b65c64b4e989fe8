"""Programs that the crash tests start: the failing file layer, the driver of command lines, the work."""
