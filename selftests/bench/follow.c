// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * follow K MS…: K tasks begin to compute at once, later they end at once. Prints the node's load in thousandths, read
 * MS milliseconds after the beginning (for each MS, rising) and then as long after the end: two lines.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <linux/ehsched.h>

static struct nl_sock *sock;
static int family;
static uint32_t load;

static int on_node(struct nl_msg *msg, void *arg)
{
	struct nlattr *attr = nlmsg_find_attr(nlmsg_hdr(msg), GENL_HDRLEN, EHS_A_NODE_LOAD);

	if (attr)
		load = nla_get_u32(attr);
	return NL_OK;
}

static void __attribute__((noreturn)) die(const char *what, const char *why)
{
	fprintf(stderr, "follow: %s: %s\n", what, why);
	exit(1);
}

static void read_load(void)
{
	int err = genl_send_simple(sock, family, EHS_CMD_NODE_GET, EHS_FAMILY_VERSION, 0);

	if (err >= 0)
		err = nl_recvmsgs_default(sock);
	if (err < 0)
		die("node-get", nl_geterror(err));
}

/* Reads at each of the times after now. */
static void read_at(int n, char **ms)
{
	struct timespec begin, at;
	long long ns;
	int i;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (i = 0; i < n; i++) {
		ns = begin.tv_nsec + (long long)(atof(ms[i]) * 1e6);
		at.tv_sec = begin.tv_sec + ns / 1000000000;
		at.tv_nsec = ns % 1000000000;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
			;
		read_load();
		printf("%u%c", load, i + 1 < n ? ' ' : '\n');
	}
}

int main(int argc, char **argv)
{
	int k = argc > 2 ? atoi(argv[1]) : -1, i, go[2];
	pid_t *children = calloc(k + 1, sizeof(*children));
	char byte;

	if (k < 0 || !children) {
		fprintf(stderr, "usage: follow K MS…\n");
		return 2;
	}
	sock = nl_socket_alloc();
	if (!sock || genl_connect(sock))
		die("netlink", strerror(errno));
	family = genl_ctrl_resolve(sock, EHS_FAMILY_NAME);
	if (family < 0)
		die(EHS_FAMILY_NAME, nl_geterror(family));
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_node, NULL);
	/* answers without an ack behind them */
	nl_socket_disable_auto_ack(sock);
	if (pipe(go))
		die("pipe", strerror(errno));
	for (i = 0; i < k; i++) {
		children[i] = fork();
		if (children[i] < 0)
			die("fork", strerror(errno));
		if (children[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(go[1]);
		if (read(go[0], &byte, 1) < 0)
			_exit(1);
		for (;;)
			;
	}
	/* what the forks were is forgotten */
	sleep(2);
	close(go[1]);
	read_at(argc - 2, argv + 2);
	for (i = 0; i < k; i++)
		kill(children[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	read_at(argc - 2, argv + 2);
	nl_socket_free(sock);
	return 0;
}
