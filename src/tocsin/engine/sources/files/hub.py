"""The one watchdog observer that all files sources share, and what keeps it honest.

One inotify instance serves every source: their number is limited (128 per user by default). Made,
started and stopped by the composition root; everything here but `start` blocks and is called in
worker threads. Knows watchdog, nothing of marks or registrations.
"""

from __future__ import annotations

import errno
import logging
import os
import tempfile
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from watchdog.events import (
    DirAttribEvent,
    DirModifiedEvent,
    FileClosedNoWriteEvent,
    FileOpenedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch
from watchdog.utils import BaseThread

from tocsin.engine.sources.files.hints import HintBox

# reading changes nothing, and a folder's own time moves with every entry that is reported by itself
NOISE = (FileOpenedEvent, FileClosedNoWriteEvent, DirModifiedEvent, DirAttribEvent)


class Watch(FileSystemEventHandler):
    """One folder under watch, for one or more boxes."""

    def __init__(self, path: str, *, recursive: bool) -> None:
        found = Path(path).stat()
        self.key = (path, recursive)
        self.identity = (found.st_dev, found.st_ino)
        self.observed: ObservedWatch | None = None
        self.threads: tuple[threading.Thread, ...] = ()
        self.boxes: tuple[HintBox, ...] = ()  # replaced, never changed: read on watchdog's thread

    def dispatch(self, event: FileSystemEvent) -> None:
        """Only hand the path over: an exception here would end the observer for everyone."""
        if isinstance(event, NOISE):
            return
        moved_to = os.fsencode(event.dest_path) if event.dest_path else None
        for box in self.boxes:
            box.put(os.fsencode(event.src_path), moved_to, folder=event.is_directory)

    def is_alive(self) -> bool:
        """Whether hints still come: every thread they pass through runs."""
        return bool(self.threads) and all(thread.is_alive() for thread in self.threads)


class ObserverHub:
    """Watches folders. Watches on one path, recursive and not, live side by side."""

    def __init__(self, make_observer: Callable[[], BaseObserver] = Observer) -> None:
        self._make_observer = make_observer
        self._observer: BaseObserver | None = None
        self._threads: tuple[threading.Thread, ...] = ()
        self._watches: dict[tuple[str, bool], Watch] = {}
        self._lock = threading.Lock()
        self._overflows = _Overflows(self._lose_all)

    def start(self) -> None:
        """Listen for overflows, which watchdog only logs. The observer itself comes with the first watch."""
        # a folder made while its parent is walked is watched twice; watchdog warns and copes
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        logging.getLogger("watchdog").setLevel(logging.WARNING)  # at DEBUG it prints every event
        logging.getLogger("watchdog.observers.inotify_c").addHandler(self._overflows)

    def stop(self) -> None:
        """End all watches; returns when no thread is left."""
        logging.getLogger("watchdog.observers.inotify_c").removeHandler(self._overflows)
        with self._lock:
            self._end_observer()

    def watch(self, path: str, *, recursive: bool, box: HintBox) -> Watch:
        """Send hints about this folder to the box, from now on.

        path: absolute, without symbolic links. Raises OSError: ENOENT, EACCES, ENOSPC when the
        user's inotify watches are used up, EMFILE when the instances are.
        """
        with self._lock:
            observer = self._living_observer()
            wanted = Watch(path, recursive=recursive)
            present = self._watches.get(wanted.key)
            if present and not (present.is_alive() and present.identity == wanted.identity):
                self._end(present)
                present = None
            watch = present or self._schedule(observer, wanted)
            watch.boxes = (*watch.boxes, box)
            return watch

    def leave(self, box: HintBox) -> None:
        """No more hints to this box; the last one to leave a watch ends it."""
        with self._lock:
            for watch in [watch for watch in self._watches.values() if box in watch.boxes]:
                watch.boxes = tuple(other for other in watch.boxes if other is not box)
                if not watch.boxes:
                    self._end(watch)

    def exhausted(self) -> bool:
        """Whether not even one more folder can be watched.

        Watchdog swallows ENOSPC for sub-folders; right after it happened this probe fails too.
        """
        with self._lock, tempfile.TemporaryDirectory(prefix="tocsin-probe-") as folder:
            try:
                observer = self._living_observer()
                observer.unschedule(observer.schedule(FileSystemEventHandler(), folder))
            except OSError as error:
                return error.errno in (errno.ENOSPC, errno.EMFILE)
            return False

    def _schedule(self, observer: BaseObserver, watch: Watch) -> Watch:
        path, recursive = watch.key
        observed = watch.observed = observer.schedule(watch, path, recursive=recursive)
        watch.threads = (*self._threads, *(own for own in observer.emitters if own.watch is observed))
        self._watches[watch.key] = watch
        return watch

    def _end(self, watch: Watch) -> None:
        del self._watches[watch.key]
        watch.threads = ()
        if self._observer is not None and watch.observed is not None:
            with suppress(KeyError):  # a stopped observer has forgotten its watches
                self._observer.unschedule(watch.observed)

    def _living_observer(self) -> BaseObserver:
        if self._observer is not None and all(thread.is_alive() for thread in self._threads):
            return self._observer
        self._end_observer()
        before = set(threading.enumerate())
        self._observer = self._make_observer()
        self._observer.start()
        # on Linux a second thread reads inotify; when it dies the observer itself seems to live on
        started = set(threading.enumerate()) - before
        self._threads = tuple(thread for thread in started if isinstance(thread, BaseThread))
        return self._observer

    def _end_observer(self) -> None:
        observer, self._observer = self._observer, None
        for watch in self._watches.values():
            watch.threads = ()
        self._watches.clear()
        if observer is not None:
            observer.stop()
            observer.join()

    def _lose_all(self) -> None:
        # without the lock: `stop` holds it while it waits for the thread that calls this
        for watch in list(self._watches.values()):
            for box in watch.boxes:
                box.lose()


class _Overflows(logging.Handler):
    """Hears of the kernel's queue overflowing the only way watchdog tells it."""

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        if "overflow" in record.getMessage():
            self._tell()


def limit(error_number: int) -> tuple[str, str]:
    """The sysctl behind an exhausted limit (ENOSPC or EMFILE), and its value as text."""
    name = "max_user_instances" if error_number == errno.EMFILE else "max_user_watches"
    try:
        value = Path("/proc/sys/fs/inotify", name).read_text().strip()
    except OSError:
        value = "unknown"
    return f"fs.inotify.{name}", value
