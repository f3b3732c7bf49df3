"""Run a command as the terminal's foreground process group, so that Ctrl-C reaches it and not make.

make would end with "interrupted" although the engine it runs stopped as it should. The terminal is
handed back afterwards. Without a terminal, or in the background, the command is run as it is.
Usage: foreground.py COMMAND [ARG ...]
"""

import contextlib
import os
import select
import signal
import sys

TERMINAL = 0
LOOK_MS = 100


def is_in_front() -> bool:
    """Whether this process belongs to the group that the terminal listens to."""
    try:
        return os.tcgetpgrp(TERMINAL) == os.getpgrp()
    except OSError:
        return False


def hand_over(group: int) -> None:
    """Make a group the terminal's foreground one, also from behind."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        os.tcsetpgrp(TERMINAL, group)
    finally:
        signal.signal(signal.SIGTTOU, before)


def run_in_front(command: list[str]) -> int:
    """Start the command in a group of its own, lend it the terminal, wait for its end. Its exit code."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        hand_over(os.getpgrp())
        os.execv(command[0], command)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: os.kill(child, received))
    status = end_of(child)
    with contextlib.suppress(OSError):  # the window may be gone
        hand_over(os.getpgrp())
    return os.waitstatus_to_exitcode(status)


def end_of(child: int) -> int:
    """Wait for a child's end; tell it when the window is closed, which only make would hear of."""
    window = select.poll()
    window.register(TERMINAL, 0)  # hang-ups alone
    while not window.poll(LOOK_MS):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
    os.kill(child, signal.SIGHUP)
    return os.waitpid(child, 0)[1]


if is_in_front():
    sys.exit(run_in_front(sys.argv[1:]))
os.execv(sys.argv[1], sys.argv[1:])
