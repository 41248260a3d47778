/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the kernel took it well. Each says on standard output what is wrong. */
#ifndef FUZZ_VERDICT_H
#define FUZZ_VERDICT_H

#include <stdbool.h>

struct nl_sock;

/*
 * Whether the kernel has said something since the last call that is a warning or
 * worse. Netlink's own notes about malformed attributes are expected, and an
 * emulated machine's clock may be late. @kmsg is /dev/kmsg, not to wait.
 */
bool verdict_kernel_complains(int kmsg);
/*
 * After the end of all workers: within 30 s only the machine's node is left,
 * without agent, tasks and requests. @sock is an administrator's.
 */
bool verdict_nothing_left(struct nl_sock *sock, int family);
/* Makes the node what it was at first, so that other tests may follow. */
bool verdict_set_back(struct nl_sock *sock, int family);

#endif
