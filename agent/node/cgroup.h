/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file cgroup.h
 * Sessions and guests in the node's part of the cgroup hierarchy.
 */
#ifndef AGENT_NODE_CGROUP_H
#define AGENT_NODE_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>
#include "wire/view.h"

int cgroup_init(const char *root); /* makes managed/ and guest/; 0 or -errno */
int cgroup_managed_fd(void);
int cgroup_guest_fd(void);
/** New managed session with this process in it; its name into `name`. */
int cgroup_session(pid_t pid, const char *wish, bool retry, enum view view, char name[64]);
/** Whether this process is in a session whose lost tasks may be run again. */
bool cgroup_session_retries(pid_t pid);
/** The view that its session was given, or VIEW_UNSET. */
enum view cgroup_session_view(pid_t pid);
/** Folder for one guest; freed (killed, removed) by cgroup_guest_end(). */
int cgroup_guest_begin(const char *id); /* descriptor of the folder, for CLONE_INTO_CGROUP */
void cgroup_guest_kill(const char *id);
void cgroup_guest_end(const char *id);

#endif
