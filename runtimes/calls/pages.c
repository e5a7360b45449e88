/* Other pages of the machine for a process's memory, with the same contents at the same addresses:
 * which of them share a place in a cache is chance, and no other process has the same ones. */
#define _GNU_SOURCE
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

#ifdef __linux__
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, of Linux 5.14 */
#define PAGE 4096UL
#define AT_ONCE 1024

/* Goes through the pages of a part that are in memory, and has each written to without a change if
 * `writes`; returns how many there are, or -1 where the kernel refuses. */
static int64_t pages_of(uintptr_t begin, uintptr_t end, int writes) {
    unsigned char is_there[AT_ONCE];
    int64_t pages = 0;
    while (begin < end) {
        uintptr_t count = (end - begin) / PAGE, run = 0;
        if (count > AT_ONCE) count = AT_ONCE;
        if (!count || mincore((void *)begin, count * PAGE, is_there)) return -1;
        for (uintptr_t k = 0; k < count; k = run + 1) {
            for (run = k; run < count && (is_there[run] & 1); run++) {}
            pages += run - k;
            if (writes && run > k && madvise((void *)(begin + k * PAGE), (run - k) * PAGE, POPULATE_WRITE))
                return -1;
        }
        begin += count * PAGE;
    }
    return pages;
}

static int64_t pages_of_all(const uintptr_t *ends, int64_t count, int writes) {
    int64_t pages = 0;
    for (int64_t i = 0; i < 2 * count; i += 2) {
        int64_t found = pages_of(ends[i], ends[i + 1], writes);
        if (found < 0) return -1;
        pages += found;
    }
    return pages;
}

/* Moves what of `count` parts, each from its begin to its end, is in memory, unless it is more than
 * `most` pages; returns how many pages, or -1. While a child of this process shares its pages, the
 * kernel gives the parent a copy of each that is written to. That is safe while other threads run.
 * The child calls nothing but the kernel, so that no library hears of it, and ends with its parent. */
EXPORT int64_t graphlap_move_pages(const uintptr_t *ends, int64_t count, int64_t most) {
    int64_t pages = pages_of_all(ends, count, 0);
    if (pages < 0 || pages > most) return -1;
    long parent = syscall(SYS_getpid);
    long child = syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (child < 0) return -1;
    if (child == 0) {
        syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        while (syscall(SYS_getppid) == parent) syscall(SYS_ppoll, 0, 0, 0, 0, 0);
        syscall(SYS_exit_group, 0);
    }
    pages = pages_of_all(ends, count, 1);
    syscall(SYS_kill, child, SIGKILL);
    while (waitpid((pid_t)child, 0, __WALL) < 0 && errno == EINTR) {}
    return pages;
}
#else
EXPORT int64_t graphlap_move_pages(const uintptr_t *ends, int64_t count, int64_t most) { return -1; }
#endif
