"""Whether a folder is on a file system whose changes the kernel does not hear of. Blocks."""

from __future__ import annotations

import os
from typing import Final

import psutil

# where somebody else writes: inotify, FSEvents and their like hear only of this machine's own changes
REMOTE: Final = frozenset(
    {
        *(
            "nfs",
            "nfs4",
            "cifs",
            "smb",
            "smb2",
            "smb3",
            "smbfs",
            "afpfs",
            "ncpfs",
            "webdav",
            "davfs",
            "ftpfs",
        ),
        *("9p", "virtiofs", "vboxsf", "prl_fs", "vmhgfs", "drvfs"),
        *("afs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs", "ocfs2", "gfs2"),
        *("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.davfs", "fuse.cephfs"),
        *("fuse.glusterfs", "fuse.juicefs", "fuse.vmhgfs-fuse", "fuse.gvfsd-fuse", "fuse.curlftpfs"),
    }
)


def remote_kind(path: str) -> str | None:
    """The type of the file system under an absolute path, if it is a remote one; else None."""
    mounted = {part.mountpoint: part.fstype.lower() for part in psutil.disk_partitions(all=True)}
    while path not in mounted and path != (parent := os.path.dirname(path)):  # noqa: PTH120 - as reported
        path = parent
    kind = mounted.get(path, "")
    return kind if kind in REMOTE else None
