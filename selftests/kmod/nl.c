// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nl COMMAND: speaks to the family ehsched for the tests. Prints "name value"
 * lines; an error as "ERRNO: extack text" on stderr, exit 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <linux/ehsched.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include "nl.h"

struct nl_sock *sock;
static int family;
char error_text[512];
static bool done;
/* messages without content */
static int passed_over;
int nth;
bool not_reached;

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "nl: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(2);
}

/* Keeps "ERRNO: text" of a refusal; libnl does not look at extack itself. */
static int on_error(struct sockaddr_nl *from, struct nlmsgerr *err, void *arg)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)((char *)err - NLMSG_HDRLEN);
	int skip = sizeof(*err), left;
	const char *text = "";
	struct nlattr *attr;

	(void)from;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += NLMSG_ALIGN(err->msg.nlmsg_len) - sizeof(err->msg);
	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS) {
		attr = (struct nlattr *)((char *)err + skip);
		left = (char *)nlh + nlh->nlmsg_len - (char *)attr;
		attr = nla_find(attr, left, NLMSGERR_ATTR_MSG);
		if (attr)
			text = nla_get_string(attr);
	}
	snprintf(error_text, sizeof(error_text), "%s: %s", strerrorname_np(-err->error), text);
	*(int *)arg = err->error;
	done = true;
	return NL_STOP;
}

static int on_done(struct nl_msg *msg, void *arg)
{
	(void)msg;
	(void)arg;
	done = true;
	return NL_STOP;
}

void open_socket_at(uint32_t port)
{
	int one = 1;

	sock = nl_socket_alloc();
	if (sock && port)
		nl_socket_set_local_port(sock, port);
	if (!sock || genl_connect(sock))
		die("no netlink socket");
	family = genl_ctrl_resolve(sock, EHS_FAMILY_NAME);
	if (family < 0)
		die("no family %s: is the module loaded?", EHS_FAMILY_NAME);
	setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
}

void open_socket(void)
{
	open_socket_at(0);
}

struct nl_msg *request(int cmd, int flags)
{
	struct nl_msg *msg = nlmsg_alloc_size(16384);

	if (!msg || !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, flags, cmd, 1))
		die("no memory");
	return msg;
}

static int any_order(struct nl_msg *msg, void *arg)
{
	(void)msg;
	(void)arg;
	return NL_OK;
}

static int on_none(struct nl_msg *msg, void *arg)
{
	(void)msg;
	(void)arg;
	passed_over++;
	return NL_OK;
}

struct nl_cb *callbacks(void)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);

	if (!cb)
		die("no memory");
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, show, NULL);
	nl_cb_set(cb, NL_CB_SKIPPED, NL_CB_CUSTOM, on_none, NULL);
	/* events come between the answers */
	nl_cb_set(cb, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, any_order, NULL);
	return cb;
}

/*
 * The kernel's allocation @number from now fails in this thread; 0 ends it.
 * Return: how many were left to go, 0 if it has failed.
 */
static int fail_nth(int number)
{
	static int fd = -1;
	char left[16] = "";

	if (fd < 0)
		fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("fail-nth: %s", strerror(errno));
	/* copying counts as well: when it fails here, nothing did before */
	if (pread(fd, left, sizeof(left) - 1, 0) < 0)
		left[0] = '1';
	snprintf(error_text, 16, "%d", number);
	while (pwrite(fd, error_text, strlen(error_text), 0) < 0)
		;
	return atoi(left);
}

/* Return: 0 or the negative errno of the kernel; error_text then says more. */
static int talk_under_fault(struct nl_msg *msg)
{
	struct nl_cb *cb = callbacks();
	int refused = 0, err, left;

	nl_cb_err(cb, NL_CB_CUSTOM, on_error, &refused);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_done, NULL);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_done, NULL);
	nl_complete_msg(sock, msg);
	fail_nth(nth);
	err = nl_send(sock, msg);
	/* the answer is there by now, or never will be; a dump goes on as it is read */
	nl_socket_set_nonblocking(sock);
	for (done = false; err >= 0 && !done && !refused;)
		err = nl_recvmsgs(sock, cb);
	left = fail_nth(0);
	fcntl(nl_socket_get_fd(sock), F_SETFL, 0);
	nlmsg_free(msg);
	nl_cb_put(cb);
	not_reached = left;
	snprintf(error_text, sizeof(error_text), "%s", err < 0 ? nl_geterror(err) : "refused");
	return err < 0 ? err : refused;
}

/* Return: 0 or the negative errno of the kernel; error_text then says more. */
int talk(struct nl_msg *msg)
{
	struct nl_cb *cb;
	int refused = 0, err;

	if (nth)
		return talk_under_fault(msg);
	cb = callbacks();

	nl_cb_err(cb, NL_CB_CUSTOM, on_error, &refused);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_done, NULL);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_done, NULL);
	err = nl_send_auto(sock, msg);
	if (err < 0)
		die("send: %s", nl_geterror(err));
	nlmsg_free(msg);
	for (done = false; !done;) {
		err = nl_recvmsgs(sock, cb);
		if (err < 0 && !done)
			die("receive: %s", nl_geterror(err));
	}
	nl_cb_put(cb);
	return refused;
}

int report(int err)
{
	if (err && !nth)
		fprintf(stderr, "%s\n", error_text);
	return !!err;
}

static int open_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	return fd;
}

/* KEY=VALUE of node-set; "raw.N=V" puts attribute N with four bytes. */
static void put_setting(struct nl_msg *msg, const char *setting)
{
	static const struct {
		const char *name;
		int type;
	} numbers[] = {
		{ "threshold", EHS_A_NODE_THRESHOLD },
		{ "length", EHS_A_NODE_THRESHOLD_LENGTH },
		{ "weight", EHS_A_NODE_WEIGHT },
		{ "limit", EHS_A_NODE_TIME_LIMIT },
		{ "dwell", EHS_A_NODE_DWELL },
		{ "no-new-privs", EHS_A_NODE_NO_NEW_PRIVS },
		{ "max-limit", EHS_A_NODE_MAX_TIME_LIMIT },
		{ "max-requests", EHS_A_NODE_MAX_REQUESTS },
		{ "processors", EHS_A_NODE_PROCESSORS },
		{ "managed-fd", EHS_A_NODE_MANAGED_CGROUP_FD },
	};
	/* what it is given may be put again */
	char *word = strdupa(setting), *value = strchr(word, '=');
	size_t i;

	if (!strcmp(word, "clear")) {
		nla_put_flag(msg, EHS_A_NODE_CLEAR_CGROUPS);
		return;
	}
	if (!value)
		die("%s: KEY=VALUE is needed", word);
	*value++ = '\0';
	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		if (!strcmp(word, numbers[i].name)) {
			nla_put_u32(msg, numbers[i].type, strtoul(value, NULL, 0));
			return;
		}
	}
	if (!strcmp(word, "index"))
		nla_put_u32(msg, EHS_A_NODE_LOAD_INDEX, show_index(value));
	else if (!strcmp(word, "managed"))
		nla_put_u32(msg, EHS_A_NODE_MANAGED_CGROUP_FD, open_folder(value));
	else if (!strcmp(word, "guest"))
		nla_put_u32(msg, EHS_A_NODE_GUEST_CGROUP_FD, open_folder(value));
	else if (!strcmp(word, "always"))
		nla_put_u32(msg, EHS_A_NODE_ALWAYS_CGROUP_FD, open_folder(value));
	else if (!strncmp(word, "raw.", 4))
		nla_put_u32(msg, atoi(word + 4), strtoul(value, NULL, 0));
	else
		die("%s: no such setting", word);
}

static int cmd_get(int argc, char **argv)
{
	struct nl_msg *msg = request(EHS_CMD_NODE_GET, 0);

	/* operands are attributes that must be refused */
	for (; argc > 0; argc--, argv++)
		put_setting(msg, *argv);
	nlmsg_hdr(msg)->nlmsg_flags |= NLM_F_ACK;
	return report(talk(msg));
}

/*
 * load WANTED SECONDS: waits until the load is near, reading it now and then;
 * as it sleeps in between it is no load itself. Prints the last one.
 */
static int cmd_load(int argc, char **argv)
{
	struct timespec from, to;
	time_t end;
	long off, ms = 0;

	if (argc != 2)
		die("load WANTED SECONDS");
	end = time(NULL) + atoi(argv[1]);
	show_nothing = true;
	do {
		/* To ask takes time, which is load: a small part of it, however slow this machine is. */
		poll(NULL, 0, 100 + 20 * ms);
		clock_gettime(CLOCK_MONOTONIC, &from);
		if (talk(request(EHS_CMD_NODE_GET, NLM_F_ACK)))
			return report(-1);
		clock_gettime(CLOCK_MONOTONIC, &to);
		ms = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
		off = (long)show_load - atol(argv[0]);
	} while ((off < -300 || off > 300) && time(NULL) <= end);
	printf("%u\n", show_load);
	return off < -300 || off > 300;
}

static int cmd_dump(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return report(talk(request(EHS_CMD_NODE_GET, NLM_F_DUMP)));
}

/* tasks [parts]: also how many parts of the dump had no task in them */
static int cmd_tasks(int argc, char **argv)
{
	int err;

	(void)argv;
	passed_over = 0;
	err = talk(request(EHS_CMD_TASK_GET, NLM_F_DUMP));
	if (argc)
		printf("%d parts without a task\n", passed_over);
	return report(err);
}

static int cmd_set(int argc, char **argv)
{
	struct nl_msg *msg = request(EHS_CMD_NODE_SET, NLM_F_ACK);

	for (; argc > 0; argc--, argv++)
		put_setting(msg, *argv);
	return report(talk(msg));
}

/* flip N: changes the load index N times, between the two that are sampled */
static int cmd_flip(int argc, char **argv)
{
	struct nl_msg *msg;
	int i, err = 0;

	if (argc != 1)
		die("flip N");
	for (i = 0; i < atoi(argv[0]) && !err; i++) {
		msg = request(EHS_CMD_NODE_SET, NLM_F_ACK);
		nla_put_u32(msg, EHS_A_NODE_LOAD_INDEX, i % 2 ? EHS_INDEX_RUNNABLE : EHS_INDEX_CPU);
		err = talk(msg);
	}
	return report(err);
}

static int cmd_bypass(int argc, char **argv)
{
	struct nl_msg *msg = request(EHS_CMD_TASK_BYPASS, NLM_F_ACK);

	if (argc)
		nla_put_u32(msg, EHS_A_TASK_PID, strtoul(argv[0], NULL, 0));
	return report(talk(msg));
}

static int cmd_away(int argc, char **argv)
{
	struct nl_msg *msg = request(EHS_CMD_TASK_AWAY, NLM_F_ACK);

	if (argc)
		nla_put_u32(msg, EHS_A_TASK_PID, strtoul(argv[0], NULL, 0));
	return report(talk(msg));
}

/* account PID [NUMBER=VALUE]…: attributes by number */
static int cmd_account(int argc, char **argv)
{
	struct nl_msg *msg = request(EHS_CMD_TASK_ACCOUNT, NLM_F_ACK);
	char *value;

	for (int i = 0; i < argc; i++) {
		if (!i)
			nla_put_u32(msg, EHS_A_TASK_PID, strtoul(argv[i], NULL, 0));
		else if ((value = strchr(argv[i], '=')))
			nla_put_u64(msg, atoi(argv[i]), strtoull(value + 1, NULL, 0));
	}
	return report(talk(msg));
}

/* eligible [PID…]: what is said of each; with several also what is refused, and then it is no failure */
static int cmd_eligible(int argc, char **argv)
{
	struct nl_msg *msg;
	int i, err = 0;

	for (i = 0; i < argc || !i; i++) {
		msg = request(EHS_CMD_TASK_ELIGIBLE, NLM_F_ACK);
		if (argc)
			nla_put_u32(msg, EHS_A_TASK_PID, strtoul(argv[i], NULL, 0));
		err = talk(msg);
		if (err && argc > 1)
			printf("%s %s\n", argv[i], error_text);
	}
	return argc > 1 ? 0 : report(err);
}

/* verdict COOKIE|- VERDICT|- REASON|- TOKEN|- */
struct nl_msg *verdict(const char *cookie, const char *verdict, const char *reason,
		       const char *token)
{
	struct nl_msg *msg = request(EHS_CMD_PLACE_VERDICT, NLM_F_ACK);

	if (strcmp(cookie, "-"))
		nla_put_u64(msg, EHS_A_PLACE_COOKIE, strtoull(cookie, NULL, 0));
	if (!strcmp(verdict, "remote"))
		nla_put_u32(msg, EHS_A_PLACE_VERDICT, EHS_VERDICT_REMOTE);
	else if (!strcmp(verdict, "local"))
		nla_put_u32(msg, EHS_A_PLACE_VERDICT, EHS_VERDICT_LOCAL);
	else if (strcmp(verdict, "-"))
		nla_put_u32(msg, EHS_A_PLACE_VERDICT, strtoul(verdict, NULL, 0));
	if (strcmp(reason, "-"))
		nla_put_u32(msg, EHS_A_PLACE_REASON, show_reason(reason));
	if (strcmp(token, "-"))
		nla_put_string(msg, EHS_A_PLACE_TOKEN, token);
	return msg;
}

static int cmd_verdict(int argc, char **argv)
{
	if (argc != 4)
		die("verdict COOKIE VERDICT REASON TOKEN");
	return report(talk(verdict(argv[0], argv[1], argv[2], argv[3])));
}

/*
 * watch [narrow]: prints notifications until it is killed; when some were lost
 * it asks how the node is. "narrow" has room for very few.
 */
static int cmd_watch(int argc, char **argv)
{
	int group = genl_ctrl_resolve_grp(sock, EHS_FAMILY_NAME, EHS_MCGRP_NODE);
	struct nl_sock *news = sock;
	struct nl_cb *cb = callbacks();
	bool missed = false;
	int err, small = 1;

	if (argc && !strcmp(argv[0], "narrow"))
		setsockopt(nl_socket_get_fd(sock), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (group < 0 || nl_socket_add_membership(news, group))
		die("no group %s", EHS_MCGRP_NODE);
	/* another one for questions */
	open_socket();
	printf("watching\n");
	fflush(stdout);
	for (;;) {
		err = nl_recvmsgs(news, cb);
		if (err == -NLE_NOMEM) {
			printf("overrun\n");
			missed = true;
			nl_socket_set_nonblocking(news);
		} else if (err == -NLE_AGAIN && missed) {
			/* not before: what was queued is older than what is now */
			talk(request(EHS_CMD_NODE_GET, NLM_F_ACK));
			missed = false;
			fcntl(nl_socket_get_fd(news), F_SETFL, 0);
		} else if (err < 0) {
			die("receive: %s", nl_geterror(err));
		}
	}
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "get", cmd_get },	      { "dump", cmd_dump },	  { "set", cmd_set },
	{ "tasks", cmd_tasks },	      { "bypass", cmd_bypass },	  { "account", cmd_account },
	{ "verdict", cmd_verdict },   { "agent", cmd_agent },	  { "watch", cmd_watch },
	{ "load", cmd_load },	      { "flip", cmd_flip },	  { "register", cmd_try_register },
	{ "serve", cmd_serve },	      { "as", cmd_as },		  { "reuse", cmd_reuse },
	{ "flood", cmd_flood },	      { "again", cmd_again },	  { "field", cmd_field },
	{ "wait", cmd_wait },	      { "counts", cmd_counts },	  { "while", cmd_while },
	{ "eligible", cmd_eligible }, { "slowest", cmd_slowest }, { "away", cmd_away },
	{ "programs", cmd_programs },
};

static void __attribute__((noreturn)) usage(void)
{
	die("get | load | dump | set | flip | tasks | bypass | account | eligible | verdict | agent | watch | register | serve | as | reuse | flood | again | field | counts | wait | while | slowest | away | programs, or every and one of them");
}

int run(int argc, char **argv)
{
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(argv[0], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	usage();
}

/*
 * every COMMAND…: again and again; the kernel's first allocation for its request
 * fails, then the second, … until none is left to fail
 */
static int every(int argc, char **argv)
{
	char *words[16];
	int i, refused = 0;

	for (nth = 1; !not_reached; nth++) {
		/* put_setting() cuts its word */
		for (i = 0; i < argc && i < 16; i++)
			words[i] = strdup(argv[i]);
		open_socket();
		refused += !!run(i, words);
		nl_socket_free(sock);
	}
	printf("%d faults, %d refused\n", nth - 2, refused);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "every"))
		return every(argc - 2, argv + 2);
	if (argc < 2)
		usage();
	open_socket();
	return run(argc - 1, argv + 1);
}
