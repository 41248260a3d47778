/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file links.h  What a message costs between two hosts of the cluster, measured from one of them. */
#ifndef EHPLAN_LINKS_H
#define EHPLAN_LINKS_H

#include "cluster.h"
#include "plan/assign/profile.h"

/** Starts `ehplan --links` on each of the hosts but the last one, which probes those after it, one
 *  after the other. Fills in links[a * n + b] for a < b; those that cannot be measured cost as much
 *  as the worst that can, and a warning is printed. `signals`: a signalfd; when it can be read, no
 *  more is measured. 0, or an exit code after a message. */
int links_measure(const struct cluster_host *hosts, uint32_t n, int signals,
		  struct assign_link *links);

/** `ehplan --links HOST…`, on one of them: a line for each host, seconds and seconds a byte, or "?".
 *  The exit code. */
int links_main(int argc, char **argv);

#endif
