"""`handrail` and `python -m handrail`. What hosts call goes straight to the hook, past the command line."""

import gc
import os
import sys


def main() -> None:
    argv = sys.argv[1:]
    if argv[:1] == ["hook"]:
        from handrail.hosts.entry import main as hook

        sys.exit(hook(argv[1:], os.environ))
    if argv[:1] == ["mcp"] and argv[1:2] == ["--agent"]:
        from handrail.hosts.mcp import main as mcp

        sys.exit(mcp(argv[1:]))
    gc.disable()  # until a command that takes its time is found: there is no garbage in a start
    from handrail.cli.main import main as cli

    sys.exit(cli(argv))


if __name__ == "__main__":
    main()
