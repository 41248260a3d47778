/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file descriptors.h  Passing descriptors along with a message on a unix socket. */
#ifndef WIRE_DESCRIPTORS_H
#define WIRE_DESCRIPTORS_H

#include <string.h>
#include <sys/socket.h>

#define DESCRIPTORS_MAX 68 /* a view's, see launch.h */

/** Control buffer; must live as long as the message that uses it. */
union descriptors {
	struct cmsghdr head;
	char space[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
};

/** Attaches the first `n` of `fds`, at most DESCRIPTORS_MAX, to the message; 0 attaches nothing. */
static inline void descriptors_put(struct msghdr *msg, union descriptors *room, const int *fds,
				   unsigned int n)
{
	if (!n)
		return;
	memset(room, 0, sizeof(*room));
	msg->msg_control = room;
	msg->msg_controllen = CMSG_SPACE(n * sizeof(int));
	room->head.cmsg_level = SOL_SOCKET;
	room->head.cmsg_type = SCM_RIGHTS;
	room->head.cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(&room->head), fds, n * sizeof(int));
}

/** Before recvmsg(): accept at most `most` descriptors with the message. */
static inline void descriptors_expect(struct msghdr *msg, union descriptors *room,
				      unsigned int most)
{
	memset(room, 0, sizeof(*room));
	msg->msg_control = room;
	msg->msg_controllen = CMSG_LEN(most * sizeof(int));
}

/** Stores the received descriptors in `fds`. Returns their number. */
static inline int descriptors_take(const struct msghdr *msg, const union descriptors *room,
				   int *fds)
{
	int n;

	if (msg->msg_controllen < CMSG_LEN(sizeof(int)) || room->head.cmsg_type != SCM_RIGHTS)
		return 0;
	n = (room->head.cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(&room->head), n * sizeof(int));
	return n;
}

#endif
