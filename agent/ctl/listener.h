/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file listener.h
 * Where local callers connect: the file that helpers/common/agent_address.h names. A lock beside it,
 * held as long as an agent runs, says whether another one does; a file that an agent left behind is
 * replaced.
 */
#ifndef AGENT_CTL_LISTENER_H
#define AGENT_CTL_LISTENER_H

#include <stdbool.h>

struct agent;
struct ucred;

/** Takes over the socket of a caller. `again`: it came by the name of before, where only what the
 *  agent knows already may come back. */
typedef void (*listener_fn)(struct agent *agent, int fd, const struct ucred *who, bool again);

/** Takes the address, before anything else of an agent that may be there is touched and before
 *  confine(): nobody gets in yet. 0, or -errno with a log message. */
int listener_open(struct agent *agent);
/** Lets callers in. 0 or -errno. */
int listener_begin(struct agent *agent, listener_fn came);
/** Another agent may listen then. The file stays, as this process may not remove it any more. */
void listener_exit(struct agent *agent);

#endif
