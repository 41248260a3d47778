// SPDX-License-Identifier: GPL-2.0-or-later
/* nl agent and register: the agents of the tests, each a character of its own. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <linux/ehsched.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include "nl.h"

/* more than the largest number of programs that stay */
#define WORDS_MAX 300

/* Requests not answered yet: they also come in while a verdict is sent. */
static struct {
	uint64_t cookies[2048];
	unsigned int first, next;
} asked;

void take_request(struct nlmsghdr *nlh)
{
	struct nlattr *tb[EHS_A_PLACE_MAX + 1];
	uint64_t cookie;
	int i;

	if (genlmsg_parse(nlh, 0, tb, EHS_A_PLACE_MAX, NULL))
		die("unreadable request");
	for (i = EHS_A_PLACE_COOKIE; i <= EHS_A_PLACE_TIME_LIMIT; i++)
		if (!tb[i])
			die("a request without attribute %d", i);
	cookie = nla_get_u64(tb[EHS_A_PLACE_COOKIE]);
	asked.cookies[asked.next++ % 2048] = cookie;
	printf("request %" PRIu64 " pid=%u uid=%u path=%s cgroup=%" PRIu64 " load=%u limit=%u\n",
	       cookie, nla_get_u32(tb[EHS_A_PLACE_PID]), nla_get_u32(tb[EHS_A_PLACE_UID]),
	       nla_get_string(tb[EHS_A_PLACE_PATH]), nla_get_u64(tb[EHS_A_PLACE_CGROUP_ID]),
	       nla_get_u32(tb[EHS_A_PLACE_LOAD]), nla_get_u32(tb[EHS_A_PLACE_TIME_LIMIT]));
}

/*
 * STUB is a path: the file is opened and its descriptor sent. For what must be refused: "-" sends
 * none, "fd:N" the number N, open or not, and "path:PATH" the path itself in the old attribute.
 */
int register_stub(const char *stub)
{
	struct nl_msg *msg = request(EHS_CMD_AGENT_REGISTER, NLM_F_ACK);
	int fd = -1, err;

	if (!strncmp(stub, "path:", 5)) {
		nla_put_string(msg, EHS_A_AGENT_STUB, stub + 5);
	} else if (!strncmp(stub, "fd:", 3)) {
		nla_put_u32(msg, EHS_A_AGENT_STUB_FD, strtoul(stub + 3, NULL, 0));
	} else if (strcmp(stub, "-")) {
		fd = open(stub, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			die("%s: %s", stub, strerror(errno));
		nla_put_u32(msg, EHS_A_AGENT_STUB_FD, fd);
	}
	err = talk(msg);
	if (fd >= 0)
		close(fd);
	return err;
}

/* A word is the path of a program, or "fd:N" for the number N, open or not. */
static int name_programs(int argc, char **argv)
{
	struct nl_msg *msg = request(EHS_CMD_PROGRAMS_SET, NLM_F_ACK);
	int fds[WORDS_MAX], i, err;

	for (i = 0; i < argc && i < WORDS_MAX; i++) {
		fds[i] = -1;
		if (!strncmp(argv[i], "fd:", 3)) {
			nla_put_u32(msg, EHS_A_AGENT_PROGRAM_FD, strtoul(argv[i] + 3, NULL, 0));
			continue;
		}
		fds[i] = open(argv[i], O_PATH | O_CLOEXEC);
		if (fds[i] < 0)
			die("%s: %s", argv[i], strerror(errno));
		nla_put_u32(msg, EHS_A_AGENT_PROGRAM_FD, fds[i]);
	}
	err = talk(msg);
	while (i--)
		if (fds[i] >= 0)
			close(fds[i]);
	return err;
}

/* programs [PATH|fd:N]…: those that stay, of the agent that has this socket */
int cmd_programs(int argc, char **argv)
{
	int err = name_programs(argc, argv);

	if (!err) {
		printf("%d programs\n", argc);
		fflush(stdout);
	}
	return report(err);
}

/* In each verdict one more allocation of the kernel works, and the next one fails. */
static bool faulty;

static void answer(uint64_t number, char **argv)
{
	char cookie[32];
	int err;

	snprintf(cookie, sizeof(cookie), "%" PRIu64, number);
	if (faulty)
		nth++;
	err = talk(verdict(cookie, argv[0], argv[1], argv[2]));
	if (faulty && not_reached) {
		printf("%d faults\n", nth - 1);
		faulty = false;
		nth = 0;
	}
	printf("answer %s %s\n", cookie, err ? error_text : "accepted");
	fflush(stdout);
}

/* Registers and never reads, with a receive buffer for very few requests. */
static void __attribute__((noreturn)) deaf_agent(void)
{
	int small = 1;

	setsockopt(nl_socket_get_fd(sock), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	printf("registered %u\n", nl_socket_get_local_port(sock));
	fflush(stdout);
	for (;;)
		pause();
}

/* A line that came through the fifo. */
static void obey(char *line)
{
	char *words[WORDS_MAX], *word = strtok(line, " \n");
	int n, err;

	for (n = 0; word && n < WORDS_MAX; word = strtok(NULL, " \n"))
		words[n++] = word;
	if (n == 4 && strspn(words[0], "0123456789")) {
		answer(strtoull(words[0], NULL, 0), words + 1);
		return;
	}
	if (n && !strcmp(words[0], "programs"))
		err = name_programs(n - 1, words + 1);
	else if (n == 2 && !strcmp(words[0], "register"))
		err = register_stub(words[1]);
	else
		die("COOKIE VERDICT REASON TOKEN | programs [PATH|fd:N]… | register STUB");
	printf("%s %s\n", words[0], err ? error_text : "accepted");
	fflush(stdout);
}

/*
 * Does what comes as lines through a fifo: "COOKIE VERDICT REASON TOKEN" is a verdict,
 * given whether somebody waits for it or not; "programs [PATH|fd:N]…"; "register STUB".
 * Each request gets the usual verdict, if there is one.
 */
static void __attribute__((noreturn)) manual_agent(const char *fifo, char **usual)
{
	static char line[32768];
	struct pollfd polled[2] = { { .fd = nl_socket_get_fd(sock), .events = POLLIN } };
	struct nl_cb *cb = callbacks();
	/* for writing too, so that it has no end */
	FILE *orders = fopen(fifo, "r+");

	if (!orders)
		die("%s: %s", fifo, strerror(errno));
	/* not more than a line, or poll would not know of the next */
	setvbuf(orders, NULL, _IONBF, 0);
	polled[1] = (struct pollfd){ .fd = fileno(orders), .events = POLLIN };
	printf("registered %u\n", nl_socket_get_local_port(sock));
	fflush(stdout);
	for (;;) {
		/* those that came while another message was answered, too */
		while (usual && asked.first != asked.next)
			answer(asked.cookies[asked.first++ % 2048], usual);
		poll(polled, 2, -1);
		if (polled[0].revents && nl_recvmsgs(sock, cb) < 0)
			die("receive failed");
		if (!polled[1].revents || !fgets(line, sizeof(line), orders))
			continue;
		obey(line);
	}
}

/*
 * serve silent|deaf, serve manual FIFO [VERDICT REASON TOKEN], or serve [faulty] [twice] [late MS]
 * VERDICT REASON TOKEN: what an agent does that is registered
 */
int cmd_serve(int argc, char **argv)
{
	int err, late = 0, room = 4 << 20;
	struct nl_cb *cb = callbacks();
	bool silent, twice = false;
	uint64_t cookie;

	if (argc < 1)
		die("serve silent|deaf|manual FIFO | serve [twice] [late MS] VERDICT REASON TOKEN");
	if (!strcmp(argv[0], "deaf"))
		deaf_agent();
	if (!strcmp(argv[0], "manual") && argc > 1)
		manual_agent(argv[1], argc == 5 ? argv + 2 : NULL);
	/* for as many requests as a node may have; in a user namespace, for those of a user */
	setsockopt(nl_socket_get_fd(sock), SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	setsockopt(nl_socket_get_fd(sock), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	silent = !strcmp(argv[0], "silent");
	if (!strcmp(argv[0], "faulty")) {
		faulty = true;
		argv++;
		argc--;
	}
	if (!strcmp(argv[0], "twice")) {
		twice = true;
		argv++;
		argc--;
	}
	if (argc > 1 && !strcmp(argv[0], "late")) {
		late = atoi(argv[1]);
		argv += 2;
		argc -= 2;
	}
	if (!silent && argc != 3)
		die("serve: VERDICT REASON TOKEN are needed");
	printf("registered %u\n", nl_socket_get_local_port(sock));
	fflush(stdout);
	for (;;) {
		if (asked.first == asked.next || silent) {
			err = nl_recvmsgs(sock, cb);
			if (err < 0)
				die("receive: %s", nl_geterror(err));
			continue;
		}
		cookie = asked.cookies[asked.first++ % 2048];
		if (late)
			poll(NULL, 0, late);
		answer(cookie, argv);
		if (twice)
			answer(cookie, argv);
	}
}

/* agent STUB and what it serves: registers first */
int cmd_agent(int argc, char **argv)
{
	int err;

	if (argc < 2)
		die("agent STUB and what it serves");
	err = register_stub(argv[0]);
	return err ? report(err) : cmd_serve(argc - 1, argv + 1);
}

/* register STUB: only says whether it would be accepted */
int cmd_try_register(int argc, char **argv)
{
	return report(register_stub(argc ? argv[0] : "-"));
}
