// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Registers an agent with the module, for which it needs CAP_NET_ADMIN, and hands it the socket. The
 * module obeys that socket from then on, whoever writes to it.
 */
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <linux/ehsched.h>

#include "rights.h"
#include "site.h"

#define KERNEL_BUFFER (4 << 20) /* each exec that waits is one message */
#define KERNEL_ANSWER_S 2 /* it answers within the call */

static const struct sockaddr_nl kernel_address = { .nl_family = AF_NETLINK };

/* A message with its attributes, and later the answer to it. */
struct kernel_message {
	union {
		struct nlmsghdr head;
		char bytes[4096];
	};
};

static void kernel_begin(struct kernel_message *m, uint16_t family, uint8_t command,
			 uint8_t version)
{
	struct genlmsghdr *genl = NLMSG_DATA(&m->head);

	memset(m, 0, NLMSG_LENGTH(GENL_HDRLEN));
	m->head.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	m->head.nlmsg_type = family;
	m->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	genl->cmd = command;
	genl->version = version;
}

static void kernel_put(struct kernel_message *m, uint16_t type, const void *value, size_t size)
{
	struct nlattr *a = (struct nlattr *)(m->bytes + NLMSG_ALIGN(m->head.nlmsg_len));

	*a = (struct nlattr){ .nla_len = NLA_HDRLEN + size, .nla_type = type };
	if (size)
		memcpy((char *)a + NLA_HDRLEN, value, size);
	m->head.nlmsg_len = NLMSG_ALIGN(m->head.nlmsg_len) + NLA_ALIGN(a->nla_len);
}

/* The value of an attribute that is at least `size` long, or NULL. */
static const void *kernel_attribute(const char *at, const char *end, uint16_t type, size_t size)
{
	while (end - at >= NLA_HDRLEN) {
		const struct nlattr *a = (const struct nlattr *)at;

		if (a->nla_len < NLA_HDRLEN || a->nla_len > end - at)
			return NULL;
		if ((a->nla_type & NLA_TYPE_MASK) == type && a->nla_len >= NLA_HDRLEN + size)
			return at + NLA_HDRLEN;
		at += NLA_ALIGN(a->nla_len);
	}
	return NULL;
}

/*
 * Sends it and takes the answer: in `m` the last message before the acknowledgement, in `text` what
 * the kernel says about an error. 0 or -errno.
 */
static int kernel_ask(int socket, struct kernel_message *m, char text[LAUNCH_TEXT])
{
	struct kernel_message answer;
	const struct nlmsgerr *e;
	const char *why, *end;
	ssize_t n;

	/* With its address: then the kernel does not ask who has opened the socket. */
	if (sendto(socket, m, m->head.nlmsg_len, 0, (const struct sockaddr *)&kernel_address,
		   sizeof(kernel_address)) < 0)
		return -errno;
	for (;;) {
		n = recv(socket, &answer, sizeof(answer), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if ((size_t)n < sizeof(answer.head) || !NLMSG_OK(&answer.head, (size_t)n))
			return -EBADMSG;
		if (answer.head.nlmsg_type != NLMSG_ERROR) {
			*m = answer;
			continue;
		}
		e = NLMSG_DATA(&answer.head);
		if (answer.head.nlmsg_len < NLMSG_LENGTH(sizeof(*e)))
			return -EBADMSG;
		end = answer.bytes + answer.head.nlmsg_len;
		why = answer.head.nlmsg_flags & NLM_F_ACK_TLVS
			      ? kernel_attribute((const char *)(e + 1), end, NLMSGERR_ATTR_MSG, 1)
			      : NULL;
		if (e->error && why)
			snprintf(text, LAUNCH_TEXT, "%.*s", (int)(end - why), why);
		return e->error;
	}
}

/* The number of the module's family, or -errno. */
static int kernel_family(int socket, char text[LAUNCH_TEXT])
{
	struct kernel_message m;
	const uint16_t *id;
	int err;

	kernel_begin(&m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	kernel_put(&m, CTRL_ATTR_FAMILY_NAME, EHS_FAMILY_NAME, sizeof(EHS_FAMILY_NAME));
	err = kernel_ask(socket, &m, text);
	if (err)
		return err;
	id = kernel_attribute((char *)NLMSG_DATA(&m.head) + GENL_HDRLEN, m.bytes + m.head.nlmsg_len,
			      CTRL_ATTR_FAMILY_ID, sizeof(*id));
	return id ? *id : -EBADMSG;
}

/*
 * The kernel takes a message without an address for one of the process that opened the socket, too. This one is for
 * others, who may have a set-user-ID program write to it: so it is opened without a right.
 */
static int kernel_open_socket(void)
{
	int err = rights_pause(), fd;

	if (err)
		return err;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (fd < 0)
		fd = -errno;
	err = rights_resume();
	if (!err || fd < 0)
		return err ?: fd;
	close(fd);
	return err;
}

static int kernel_open(void)
{
	const struct timeval limit = { KERNEL_ANSWER_S, 0 };
	const int size = KERNEL_BUFFER, on = 1;
	int fd = kernel_open_socket(), err;

	if (fd < 0)
		return fd;
	/* Connected, it takes messages of nobody but the kernel. */
	if (bind(fd, (const struct sockaddr *)&kernel_address, sizeof(kernel_address)) ||
	    connect(fd, (const struct sockaddr *)&kernel_address, sizeof(kernel_address)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		goto close_socket;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	return fd;

close_socket:
	err = -errno;
	close(fd);
	return err;
}

static int kernel_register_agent(int socket, int family, char text[LAUNCH_TEXT])
{
	const char *path = rules.stub ?: site.stub;
	int stub = open(path, O_RDONLY | O_CLOEXEC), err;
	struct kernel_message m;

	if (stub < 0) {
		err = -errno;
		snprintf(text, LAUNCH_TEXT,
			 "cannot open the stub %.80s: %s; correct `stub` or install it", path,
			 strerror(errno));
		return err;
	}
	kernel_begin(&m, family, EHS_CMD_AGENT_REGISTER, EHS_FAMILY_VERSION);
	kernel_put(&m, EHS_A_AGENT_STUB_FD, &stub, sizeof(uint32_t));
	err = kernel_ask(socket, &m, text);
	close(stub);
	return err;
}

static int kernel_folder(const char *name)
{
	char path[EHS_PATH_MAX + 1];

	if (!rules.cgroup ||
	    snprintf(path, sizeof(path), "%s/%s", rules.cgroup, name) >= (int)sizeof(path))
		return -1;
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Whether the module bounds what an agent may set. One of an earlier version does not. 0 or 1, or -errno. */
static int kernel_has_bounds(int socket, int family, char text[LAUNCH_TEXT])
{
	struct kernel_message m;
	int err;

	kernel_begin(&m, family, EHS_CMD_NODE_GET, EHS_FAMILY_VERSION);
	err = kernel_ask(socket, &m, text);
	if (err)
		return err;
	return !!kernel_attribute((char *)NLMSG_DATA(&m.head) + GENL_HDRLEN,
				  m.bytes + m.head.nlmsg_len, EHS_A_NODE_MAX_TIME_LIMIT,
				  sizeof(uint32_t));
}

/* What the site allows, which the agent cannot change. */
static int kernel_set_bounds(int socket, int family, char text[LAUNCH_TEXT])
{
	const uint32_t no_new_privs = rules.no_new_privs, limit = rules.time_limit_max;
	const int bounded = kernel_has_bounds(socket, family, text);
	struct kernel_message m;

	if (bounded < 0)
		return bounded;
	kernel_begin(&m, family, EHS_CMD_NODE_SET, EHS_FAMILY_VERSION);
	kernel_put(&m, EHS_A_NODE_NO_NEW_PRIVS, &no_new_privs, sizeof(no_new_privs));
	if (bounded)
		kernel_put(&m, EHS_A_NODE_MAX_TIME_LIMIT, &limit, sizeof(limit));
	return kernel_ask(socket, &m, text);
}

static int kernel_set_cgroups(int socket, int family, char text[LAUNCH_TEXT])
{
	static const struct {
		const char *name;
		uint16_t attribute;
	} folders[] = {
		{ "managed", EHS_A_NODE_MANAGED_CGROUP_FD },
		{ "guest", EHS_A_NODE_GUEST_CGROUP_FD },
		{ "all", EHS_A_NODE_ALWAYS_CGROUP_FD },
	};
	enum { FOLDERS = sizeof(folders) / sizeof(folders[0]) };
	struct kernel_message m;
	int fds[FOLDERS], err;

	kernel_begin(&m, family, EHS_CMD_NODE_SET, EHS_FAMILY_VERSION);
	kernel_put(&m, EHS_A_NODE_CLEAR_CGROUPS, NULL, 0);
	for (int i = 0; i < FOLDERS; i++) {
		fds[i] = kernel_folder(folders[i].name);
		if (fds[i] >= 0)
			kernel_put(&m, folders[i].attribute, &fds[i], sizeof(uint32_t));
	}
	err = kernel_ask(socket, &m, text);
	for (int i = 0; i < FOLDERS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return err;
}

bool kernel_is_good(const struct request *r)
{
	return r->length == sizeof(r->head) && r->nfds == LAUNCH_FD_NEWS + 1;
}

int kernel_register(const struct request *r)
{
	struct launch_registered told = { .news.stage = LAUNCH_MODULE };
	int fd = kernel_open(), family, err = fd < 0 ? fd : 0;

	if (!err) {
		family = kernel_family(fd, told.text);
		err = family < 0 ? family : kernel_register_agent(fd, family, told.text);
	}
	if (!err)
		err = kernel_set_bounds(fd, family, told.text);
	if (!err)
		err = kernel_set_cgroups(fd, family, told.text);
	if (!err)
		told.news.stage = LAUNCH_READY;
	told.news.error = -err;
	request_answer(r->fds[LAUNCH_FD_NEWS], &told, sizeof(told), &fd, !err);
	if (fd >= 0)
		close(fd);
	return 0;
}
