"""Run a command as the terminal's foreground process group, so that Ctrl-C reaches it and not make.

make would end with "interrupted" although the engine it runs stopped as it should. Without a
terminal, or in the background, the command is run as it is. Usage: foreground.py COMMAND [ARG …]
"""

import contextlib
import os
import signal
import sys

TERMINAL = 0


def take_the_terminal() -> None:
    """Put this process into a group of its own and make that group the terminal's foreground one."""
    if os.tcgetpgrp(TERMINAL) != os.getpgrp() or os.getpid() == os.getsid(0):
        return
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.setpgid(0, 0)
    os.tcsetpgrp(TERMINAL, os.getpgrp())
    signal.signal(signal.SIGTTOU, before)


def main() -> None:
    """Take the terminal if there is one, then become the command."""
    if os.isatty(TERMINAL):
        with contextlib.suppress(OSError):
            take_the_terminal()
    os.execv(sys.argv[1], sys.argv[1:])


main()
