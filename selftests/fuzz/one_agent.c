// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the agent calls of the outer world, and what is not to happen in a fuzzer, is defined here:
 * the program's own definitions come before those of libraries.
 */
#include "one_agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <linux/ehsched.h>
#include <linux/genetlink.h>
#include <netinet/in.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/launcher.h"
#include "base/log.h"
#include "net/tls.h"
#include "rooms.h"
#include "wire/descriptors.h"
#include "wire/frame.h"

#define ENDS 24
#define FAMILY 40 /* the module's, where there is one */
#define FD_MAX 1024

/* The other side of one connection of the agent. */
struct end {
	int fd; /* -1: closed */
	unsigned int stream; /* of HTTP/2: the last one */
};

static struct {
	struct agent agent;
	struct end ends[ENDS];
	unsigned int nends;
	uid_t caller;
	const char *host; /* who connects next */
	const char *hosts[FD_MAX]; /* the certificate's name, by descriptor of the agent */
	evconnlistener_cb accept;
	int news[ENDS]; /* questions to ehlaunch that have no answer yet */
	unsigned int nnews;
	bool module;
	const uint8_t *datagram;
	size_t datagram_size;
	struct bufferevent *fresh;
	char dir[64], name[96];
} one;

static const char *const one_hosts[] = { "n0", "n2", "n1", "other", "n3" };

/* ---- the input ---- */

struct input {
	const uint8_t *at;
	size_t left;
};

static uint8_t one_byte(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

static const uint8_t *one_bytes(struct input *in, size_t *length)
{
	const uint8_t *at = in->at;

	*length = one_byte(in) << 8;
	*length |= one_byte(in);
	at = in->at;
	if (*length > in->left)
		*length = in->left;
	in->at += *length;
	in->left -= *length;
	return at;
}

/* ---- the log: made, and thrown away ---- */

void log_set_levels(const struct log_levels *levels)
{
}

void log_message(enum log_level level, const char *file, const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
}

bool log_allowed(struct log_limit *limit)
{
	return true;
}

/* ---- connections ---- */

static struct end *one_end_new(int fd)
{
	struct end *e = &one.ends[one.nends];

	if (one.nends == ENDS) {
		close(fd);
		return NULL;
	}
	one.nends++;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	*e = (struct end){ .fd = fd };
	return e;
}

static void one_send(const struct end *e, const void *bytes, size_t n)
{
	if (e && e->fd >= 0)
		send(e->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void one_turn(void)
{
	static uint8_t waste[65536];

	for (int i = 0; i < 3; i++)
		event_base_loop(one.agent.base, EVLOOP_NONBLOCK);
	for (unsigned int i = 0; i < one.nends; i++)
		while (one.ends[i].fd >= 0 &&
		       recv(one.ends[i].fd, waste, sizeof(waste), MSG_DONTWAIT) > 0)
			;
}

/* ---- TLS that hides nothing ---- */

void tls_use(struct agent *agent, struct tls *tls)
{
}

struct tls *tls_new(const struct config *config, FILE *errors)
{
	return NULL;
}

void tls_free(struct tls *tls)
{
}

SSL *tls_side(struct tls *tls, bool server, struct tls_verdict *verdict)
{
	return (SSL *)&one;
}

bool tls_peer_cn(SSL *ssl, char *cn, size_t size)
{
	const int fd = bufferevent_getfd((struct bufferevent *)ssl);

	if (fd < 0 || fd >= FD_MAX || !one.hosts[fd])
		return false;
	snprintf(cn, size, "%s", one.hosts[fd]);
	return true;
}

bool tls_own_cn(const struct tls *tls, char *cn, size_t size)
{
	snprintf(cn, size, "n1");
	return true;
}

int tls_own_validity(const struct tls *tls, int64_t *from, int64_t *until, char *cn, size_t size)
{
	*from = *until = 0;
	tls_own_cn(tls, cn, size);
	return 0;
}

struct bufferevent *bufferevent_openssl_socket_new(struct event_base *base, evutil_socket_t fd,
						   struct ssl_st *ssl,
						   enum bufferevent_ssl_state state, int options)
{
	one.fresh = bufferevent_socket_new(base, fd, options);
	return one.fresh;
}

/* The last call of a new connection: its handshake is done. */
int bufferevent_enable(struct bufferevent *bev, short what)
{
	static int (*real)(struct bufferevent * bev, short what);
	int err;

	if (!real)
		real = dlsym(RTLD_NEXT, "bufferevent_enable");
	err = real(bev, what);
	if (bev == one.fresh) {
		one.fresh = NULL;
		bufferevent_trigger_event(bev, BEV_EVENT_CONNECTED, BEV_OPT_DEFER_CALLBACKS);
	}
	return err;
}

struct ssl_st *bufferevent_openssl_get_ssl(struct bufferevent *bev)
{
	return (SSL *)bev;
}

unsigned long bufferevent_get_openssl_error(struct bufferevent *bev)
{
	return 0;
}

void SSL_get0_alpn_selected(const SSL *ssl, const unsigned char **data, unsigned int *length)
{
	*data = (const unsigned char *)"h2";
	*length = 2;
}

int SSL_write(SSL *ssl, const void *bytes, int n)
{
	return send(bufferevent_getfd((struct bufferevent *)ssl), bytes, n,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- the socket for hosts ---- */

struct evconnlistener *evconnlistener_new_bind(struct event_base *base, evconnlistener_cb cb,
					       void *arg, unsigned int flags, int backlog,
					       const struct sockaddr *to, int length)
{
	one.accept = cb;
	return (struct evconnlistener *)&one;
}

void evconnlistener_set_error_cb(struct evconnlistener *listener, evconnlistener_errorcb cb)
{
}

void evconnlistener_free(struct evconnlistener *listener)
{
}

/* A connection to a host leads to an end. */
int connect(int fd, const struct sockaddr *to, socklen_t length)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)to;
	int pair[2];

	if (to->sa_family != AF_INET)
		return syscall(SYS_connect, fd, to, length);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -1;
	dup3(pair[0], fd, O_CLOEXEC);
	close(pair[0]);
	if (fd < FD_MAX)
		one.hosts[fd] = one_hosts[ntohs(in->sin_port) % 5];
	one_end_new(pair[1]);
	return 0;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	int err = syscall(SYS_getsockopt, fd, level, name, value, length);

	if (!err && level == SOL_SOCKET && name == SO_PEERCRED)
		((struct ucred *)value)->uid = one.caller;
	return err;
}

/* No process gets a signal, whatever number ehlaunch says. */
int kill(pid_t pid, int sig)
{
	errno = ESRCH;
	return -1;
}

/* ---- ehlaunch ---- */

int launcher_init(struct agent *agent)
{
	return 0;
}

void launcher_reload(struct agent *agent, const struct config *old)
{
}

unsigned int launcher_starts(const struct agent *agent)
{
	return 1;
}

bool launcher_is_apart(const struct agent *agent)
{
	return false;
}

void launcher_exit(struct agent *agent)
{
}

const char *launcher_trouble(const struct launch_news *news)
{
	return "no";
}

/* What the agent gives away is an end, too: the other side of a job, of a view, of ehlook. */
int launcher_ask(struct agent *agent, const struct launcher_request *q)
{
	int pair[2];

	if (one.nnews == ENDS ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -EAGAIN;
	one.news[one.nnews++] = pair[1];
	for (unsigned int i = 0; i < q->nfds; i++) {
		int fd = fcntl(q->fds[i], F_DUPFD_CLOEXEC, 0);

		if (fd >= 0)
			one_end_new(fd);
	}
	return pair[0];
}

int launcher_receive(int news, void *answer, size_t size)
{
	struct iovec iov = { answer, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	const struct launch_news *told = answer;
	int fds[DESCRIPTORS_MAX], n;
	union descriptors room;
	ssize_t got;

	descriptors_expect(&msg, &room, DESCRIPTORS_MAX);
	got = recvmsg(news, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got < 0)
		return -errno;
	n = descriptors_take(&msg, &room, fds);
	for (int i = 1; i < n; i++)
		close(fds[i]);
	if ((size_t)got >= sizeof(*told) && told->stage == LAUNCH_READY && n > 0)
		return fds[0];
	if (n > 0)
		close(fds[0]);
	return (size_t)got >= sizeof(*told) && told->error > 0 ? -told->error : -EPROTO;
}

static void one_launched(struct input *in)
{
	struct launch_registered told = { .news = { one_byte(in) % LAUNCH_STAGES, one_byte(in),
						    0 } };
	struct iovec iov = { &told, sizeof(told.news) + one_byte(in) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[DESCRIPTORS_MAX], n = one_byte(in) & 3;
	union descriptors room;

	if (!one.nnews)
		return;
	told.news.pid = 0x7ffffff0; /* of no process */
	if (iov.iov_len > sizeof(told))
		iov.iov_len = sizeof(told);
	for (int i = 0; i < n; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
			exit(1);
		fds[i] = pair[0];
		one_end_new(pair[1]);
	}
	/* That of the module is a netlink socket. */
	if (n == 3) {
		close(fds[0]);
		fds[0] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	}
	if (n)
		descriptors_put(&msg, &room, fds, n);
	sendmsg(one.news[0], &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	for (int i = 0; i < n; i++)
		close(fds[i]);
	close(one.news[0]);
	one.nnews--;
	memmove(one.news, one.news + 1, one.nnews * sizeof(one.news[0]));
}

/* ---- the kernel ---- */

int genl_ctrl_resolve(struct nl_sock *sk, const char *name)
{
	return one.module ? FAMILY : -NLE_OBJ_NOTFOUND;
}

int genl_ctrl_resolve_grp(struct nl_sock *sk, const char *family, const char *group)
{
	return -NLE_OBJ_NOTFOUND;
}

int genl_ctrl_alloc_cache(struct nl_sock *sk, struct nl_cache **out)
{
	return -NLE_NOMEM;
}

static uint32_t one_sequence;

int nl_send(struct nl_sock *sk, struct nl_msg *msg)
{
	one_sequence = nlmsg_hdr(msg)->nlmsg_seq;
	return nlmsg_hdr(msg)->nlmsg_len;
}

int nl_send_auto(struct nl_sock *sk, struct nl_msg *msg)
{
	nl_complete_msg(sk, msg);
	return nl_send(sk, msg);
}

/* The datagram of this step, once, or an answer without an error where the input has none. */
int nl_recv(struct nl_sock *sk, struct sockaddr_nl *from, unsigned char **bytes,
	    struct ucred **creds)
{
	size_t n = one.datagram_size;
	struct nlmsghdr *h;

	memset(from, 0, sizeof(*from));
	from->nl_family = AF_NETLINK;
	if (!one.datagram)
		return -NLE_AGAIN;
	*bytes = malloc(n ? n : 1);
	if (!*bytes)
		return -NLE_NOMEM;
	memcpy(*bytes, one.datagram, n);
	h = (struct nlmsghdr *)*bytes;
	/* The kernel's own form: a length that fits, and the number of what was asked. */
	if (n >= sizeof(*h) && h->nlmsg_pid & 1) {
		h->nlmsg_len = n;
		h->nlmsg_seq = one_sequence;
	}
	if (n >= sizeof(*h) && h->nlmsg_pid & 2)
		h->nlmsg_type = FAMILY;
	one.datagram = NULL;
	return n;
}

static void one_kernel(struct input *in)
{
	one.datagram = one_bytes(in, &one.datagram_size);
	if (one.datagram_size < NLMSG_HDRLEN)
		one.datagram = NULL;
}

/* ---- HTTP/2 ---- */

static const char *const one_routes[] = {
	"/v1/hello", "/v1/control", "/v1/drain",  "/v1/nodes", "/v1/reserve",
	"/v1/job",   "/v1/resume",  "/v1/mounts", "/v1/files", "/v1/9p",
	"/v1/join",  "/v1/leave",   "/v1/roster", "/v1/none",
};

static void one_h2(const struct end *e, uint8_t type, uint8_t flags, uint32_t stream,
		   const void *bytes, size_t n)
{
	uint8_t head[9] = { n >> 16,	  n >> 8,	n,	     type,  flags,
			    stream >> 24, stream >> 16, stream >> 8, stream };

	one_send(e, head, sizeof(head));
	one_send(e, bytes, n);
}

static void one_request(struct input *in, struct end *e)
{
	const uint8_t how = one_byte(in), which = one_byte(in);
	const char *path = one_routes[which % (sizeof(one_routes) / sizeof(one_routes[0]))];
	uint8_t block[64] = { how & 1 ? 0x82 : 0x83, 0x87, 0x41, 1, 'a', 0x44, strlen(path) };
	size_t n;
	const uint8_t *body = one_bytes(in, &n);

	memcpy(block + 7, path, strlen(path));
	e->stream += e->stream ? 2 : 1;
	/* 1: HEADERS, 0: DATA; 4: all headers, 1: the end */
	one_h2(e, 1, n ? 4 : 5, e->stream, block, 7 + strlen(path));
	if (n)
		one_h2(e, 0, how & 2 ? 0 : 1, e->stream, body, n);
}

static void one_response(struct input *in, const struct end *e)
{
	static const uint8_t statuses[] = { 0x88, 0x88, 0x8c, 0x8d, 0x8e };
	const uint8_t how = one_byte(in), stream = one_byte(in);
	size_t n;
	const uint8_t *body = one_bytes(in, &n);

	one_h2(e, 1, 4, stream, &statuses[(how >> 1) % 5], 1);
	one_h2(e, 0, how & 1, stream, body, n);
}

static void one_data(struct input *in, const struct end *e)
{
	const uint8_t how = one_byte(in);
	size_t n;
	const uint8_t *body = one_bytes(in, &n);

	one_h2(e, 0, how & 1, e->stream - (how >> 1 & 6), body, n);
}

static void one_host(struct input *in)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	struct sockaddr_in from = { .sin_family = AF_INET };
	const uint8_t how = one_byte(in);
	struct end *e;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		exit(1);
	if (pair[0] < FD_MAX)
		one.hosts[pair[0]] = one_hosts[(how & 127) % 5];
	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	e = one_end_new(pair[1]);
	one.accept((struct evconnlistener *)&one, pair[0], (struct sockaddr *)&from, sizeof(from),
		   &one.agent);
	if (how & 128)
		return;
	one_send(e, preface, sizeof(preface) - 1);
	one_h2(e, 4, 0, 0, NULL, 0);
}

/* ---- local users ---- */

static void one_local(struct input *in)
{
	static const uid_t users[] = { 0, 1000, 1001, 65534 };
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const size_t n = strlen(one.name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	one.caller = users[one_byte(in) & 3];
	memcpy(to.sun_path + 1, one.name, n);
	if (fd < 0 ||
	    connect(fd, (struct sockaddr *)&to, offsetof(struct sockaddr_un, sun_path) + 1 + n))
		exit(1);
	one_end_new(fd);
}

static void one_frame(struct input *in, const struct end *e)
{
	const unsigned int type = one_byte(in) % FRAME_TYPES;
	uint8_t header[FRAME_HEADER];
	size_t n;
	const uint8_t *payload = one_bytes(in, &n);

	frame_header(header, type, n);
	one_send(e, header, sizeof(header));
	one_send(e, payload, n);
}

/* ---- the agent ---- */

static void one_ready(void)
{
}

static void one_remove(void)
{
	char name[128];

	snprintf(name, sizeof(name), "%s/state", one.dir);
	unlink(name);
	snprintf(name, sizeof(name), "%s/conf", one.dir);
	unlink(name);
	rmdir(one.dir);
}

static void one_prepare(void)
{
	char name[128];
	FILE *f;

	strcpy(one.dir, "/dev/shm/ehs-fuzz-XXXXXX");
	if (!mkdtemp(one.dir))
		exit(1);
	atexit(one_remove);
	signal(SIGPIPE, SIG_IGN);
	snprintf(one.name, sizeof(one.name), "%s", one.dir);
	snprintf(name, sizeof(name), "%s/conf", one.dir);
	f = fopen(name, "we");
	if (!f)
		exit(1);
	fprintf(f,
		"cluster = \"c\"\ntopology = \"2,1\"\nnode = \"0.1\"\naddress = \"10.0.0.1:2\"\n"
		"certificate = \"/dev/null\"\nkey = \"/dev/null\"\nauthority = \"/dev/null\"\n"
		"cgroup = \"%s/none\"\nstub = \"/bin/true\"\nstate = \"%s/state\"\n"
		"heartbeat = 2000\nlog = \"error\"\n"
		"peer \"0.0\" { host = \"n0\" address = \"10.0.0.1:5\" }\n"
		"peer \"0.1\" { host = \"n1\" address = \"10.0.0.1:2\" }\n"
		"peer \"0.2\" { host = \"n2\" address = \"10.0.0.1:6\" }\n",
		one.dir, one.dir);
	fclose(f);
}

static void one_start(void)
{
	char name[128];

	snprintf(name, sizeof(name), "%s/conf", one.dir);
	one.agent = (struct agent){ .base = event_base_new(), .socket = one.name };
	one.agent.config = config_read(name, NULL, stderr);
	if (!one.agent.config || !one.agent.base || rooms_start(&one.agent, NULL, one_ready))
		exit(1);
}

static void one_end(void)
{
	char name[128];

	rooms_stop(&one.agent);
	event_base_free(one.agent.base);
	for (unsigned int i = 0; i < one.nends; i++)
		if (one.ends[i].fd >= 0)
			close(one.ends[i].fd);
	for (unsigned int i = 0; i < one.nnews; i++)
		close(one.news[i]);
	one.nends = one.nnews = 0;
	memset(one.hosts, 0, sizeof(one.hosts));
	snprintf(name, sizeof(name), "%s/state", one.dir);
	unlink(name);
}

static void one_step(struct input *in, unsigned int steps)
{
	const unsigned int step = one_byte(in) % ONE_STEPS;
	struct end *e;

	if (!(steps & 1u << step))
		return;
	switch (step) {
	case ONE_LOCAL:
		one_local(in);
		return;
	case ONE_HOST:
		one_host(in);
		return;
	case ONE_LAUNCHED:
		one_launched(in);
		return;
	case ONE_KERNEL:
		one_kernel(in);
		return;
	}
	/* the last ones first: an input that begins something goes on with it */
	e = one.nends ? &one.ends[one.nends - 1 - one_byte(in) % one.nends] : NULL;
	if (!e || e->fd < 0)
		return;
	switch (step) {
	case ONE_BYTES: {
		size_t n;
		const uint8_t *bytes = one_bytes(in, &n);

		one_send(e, bytes, n);
		return;
	}
	case ONE_FRAME:
		one_frame(in, e);
		return;
	case ONE_REQUEST:
		one_request(in, e);
		return;
	case ONE_RESPONSE:
		one_response(in, e);
		return;
	case ONE_DATA:
		one_data(in, e);
		return;
	default:
		close(e->fd);
		e->fd = -1;
	}
}

int one_agent_play(const uint8_t *data, size_t size, unsigned int steps)
{
	struct input in = { data, size };

	if (!*one.dir)
		one_prepare();
	one.datagram = NULL;
	one.module = steps & 1u << ONE_KERNEL;
	one_start();
	one_turn();
	while (in.left && !event_base_got_exit(one.agent.base) &&
	       !event_base_got_break(one.agent.base)) {
		one_step(&in, steps);
		one_turn();
	}
	one_end();
	return 0;
}
