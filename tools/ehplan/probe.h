/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file probe.h  What a command on a host costs, measured. */
#ifndef EHPLAN_PROBE_H
#define EHPLAN_PROBE_H

#include "cluster.h"

/** Runs a short `cat` on each host that has slots, one host after the other: how long it takes to
 *  start and end, how long a byte needs to get there and back, and how many bytes a second do. A
 *  host that fails has no slots afterwards, and a warning is printed. 0, or an exit code after a
 *  message: no host is left. */
int probe_cluster(struct cluster *c, const char *view);
/** The same of one host, without trying again. 0, -errno, or the exit code of the command there. */
int probe_host(struct cluster_host *host, const char *view);

#endif
