"""Run a program so that it ends with its parent, and never as root.

A file of its own, started as `python -I -S launch.py PARENT HOW UID GID PROGRAM …` and replaced by the program: what it
does between fork and exec is unsafe in a process with threads, and its parent has several. It imports nothing of ours.

HOW is `plain` (change nothing), `namespace` (the program sees itself as UID while its files stay those of the caller),
or `setuid` (become UID; the right to read the caller's folders is kept where the system allows it).
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
PR_SET_KEEPCAPS = 8
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
CLONE_NEWUSER = 0x10000000
CAP_DAC_OVERRIDE = 1
CAPABILITY_VERSION_3 = 0x20080522


def enter_namespace(uid: int, gid: int) -> None:
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "a user namespace is refused")
    for name, line in (
        ("setgroups", "deny"),
        ("gid_map", f"{gid} {outer_gid} 1"),
        ("uid_map", f"{uid} {outer_uid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(line)


def become(uid: int, gid: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    if sys.platform == "linux":
        keep_folder_access()


def keep_folder_access() -> None:
    # Without it a data folder below a closed home folder cannot be reached, and the homes of others are not ours to
    # open. Where the capability was taken away this changes nothing, and the caller finds out by trying.
    libc = ctypes.CDLL(None)
    bit = 1 << CAP_DAC_OVERRIDE
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0)
    libc.capset(header, sets)
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0)


def end_with(parent: int) -> None:
    # After the change of user: the kernel forgets the request when credentials change.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the parent ended before the program began")


def main() -> None:
    parent, how, uid, gid = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    program = sys.argv[5:]
    try:
        if how == "namespace":
            enter_namespace(uid, gid)
        elif how == "setuid":
            become(uid, gid)
    except OSError as error:
        sys.exit(f"cannot change the user: {error}")
    end_with(parent)
    os.execv(program[0], program)  # noqa: S606 - the point is to become the program


if __name__ == "__main__":
    main()
