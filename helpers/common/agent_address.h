/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file agent_address.h
 * Where the agent of a network namespace listens, and whom its clients believe. Agent, tools and the
 * ends of jobs all ask here. Nothing but libc, as the ends are static and small.
 *
 * The socket is a file, so that a sandbox can leave it out. Its name has the number that the kernel
 * gives to a network namespace (Linux 5.14), as each of them is a node: nodes share a file system.
 * The initial one has no number of its own: it is 1 before Linux 6.18, and another one since.
 */
#ifndef HELPERS_AGENT_ADDRESS_H
#define HELPERS_AGENT_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

/** Made by root; its owner is the user of this host's agent. */
#define AGENT_FOLDER "/run/ehsched"
#define AGENT_FOLDER_SIZE 32
#define AGENT_NAME_MAX 40 /**< bytes of "/agent.COOKIE", with the longest suffix and a NUL */

/** The network namespace in which this socket was made: also of one that was accepted, where it is
 *  the caller's. 0 or -errno. */
int agent_cookie(int socket, uint64_t *cookie);
/** FOLDER/agent.COOKIE for the network namespace of this socket; "": in the current directory.
 *  0 or -errno. */
int agent_address(int socket, const char *folder, struct sockaddr_un *out);
/** Where an agent of this user listens that may not write to AGENT_FOLDER. */
void agent_folder_of(uid_t uid, char out[AGENT_FOLDER_SIZE]);
/** The owner of AGENT_FOLDER. In a view of another host's files that means nothing. (uid_t)-1: there
 *  is none, or others may write to it. */
uid_t agent_owner(void);

/** Whether a client takes a process of this user for the agent: root, our own user, or `owner`. */
bool agent_believes(uid_t uid, uid_t owner);
/** Connects this socket to whoever listens in the folder. 0, with *who, or -errno. */
int agent_reach(int socket, const char *folder, struct ucred *who);
/**
 * Connects this socket to the agent, in AGENT_FOLDER or else the folder of our own user. 0, or -errno:
 * -ECONNREFUSED: no agent runs; -ENOENT: and there is no AGENT_FOLDER; -EPERM: *who listens, and is
 * not believed; `owner`: usually agent_owner().
 */
int agent_connect(int socket, uid_t owner, struct ucred *who);

/**
 * The abstract name where agents of before listened. Until version 0.2 agents take ends that come back
 * there, and such ends go on there if nobody listens at the file, so that tasks outlive an upgrade, and
 * its end. Returns the length of the address.
 */
socklen_t agent_address_earlier(struct sockaddr_un *out);
/** Connects this socket there. 0, or -errno as of agent_connect(). */
int agent_connect_earlier(int socket, uid_t owner);

#endif
