// SPDX-License-Identifier: GPL-2.0-or-later
/* ehagent: set-up, signals, reload, end. */

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/config.h"
#include "base/log.h"
#include "cluster/address.h"
#include "cluster/enrol.h"
#include "cluster/gather.h"
#include "cluster/hierarchy.h"
#include "cluster/join.h"
#include "cluster/leave.h"
#include "cluster/roster.h"
#include "cluster/store.h"
#include "ctl/socket.h"
#include "eh/topology.h"
#include "executor/guest.h"
#include "executor/reserve.h"
#include "executor/view.h"
#include "home/record.h"
#include "home/serve.h"
#include "net/client.h"
#include "net/peer.h"
#include "net/server.h"
#include "net/tls.h"
#include "node/cgroup.h"
#include "node/kernel.h"
#include "node/node.h"
#include "node/stayed.h"

#define MAIN_CONFIG "/etc/ehsched/agent.conf"
#define MAIN_FILES 65536 /* three for each task that is away, four for each guest */
#define MAIN_NICE (-10) /* execs wait for us: we come before what overloads the node */
#define MAIN_OOM "-500" /* without us the tasks that are away would be lost */

struct agent the_agent;
static const char **main_joins; /* --join, ends with NULL */

static const struct server_route main_routes[] = {
	{ .method = "POST", .path = "/v1/control", .later = hierarchy_on_message },
	{ .method = "POST", .path = "/v1/drain", .json = hierarchy_on_drain },
	{ .method = "GET", .path = "/v1/nodes", .later = gather_on_nodes },
	{ .method = "POST", .path = "/v1/reserve", .later = reserve_on_request },
	{ .method = "POST", .path = "/v1/job", .stream = guest_job },
	{ .method = "POST", .path = "/v1/mounts", .json = serve_mounts },
	{ .method = "POST", .path = "/v1/files", .stream = serve_files },
	{ .method = "POST", .path = "/v1/9p", .stream = serve_9p },
	{ .method = "POST", .path = "/v1/join", .open = true, .later = enrol_on_join },
	{ .method = "POST", .path = "/v1/leave", .later = enrol_on_leave },
	{ .method = "GET", .path = "/v1/roster", .open = true, .json = enrol_on_roster },
	{ .method = "POST", .path = "/v1/roster", .json = enrol_on_exchange },
	{ 0 },
};

/* ---- configuration ---- */

/* Errors of a reload go to the log, line by line. */
static void main_log_lines(char *text)
{
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			log_error("%s", line);
}

static void main_reload(void)
{
	struct config *old = the_agent.config, *now;
	struct tls *tls = NULL;
	char *text = NULL;
	size_t size;
	FILE *errors = open_memstream(&text, &size);

	if (!errors) {
		log_error("reload: no memory");
		return;
	}
	now = config_read(old->file, main_joins, errors);
	/* with `join` its place is the one that the cluster gave */
	if (now &&
	    (!now->njoin || config_adopt(now, old->host, &old->topology, old->node, errors)) &&
	    config_may_replace(old, now, errors))
		tls = tls_new(now, errors);
	fclose(errors);
	if (!tls) {
		main_log_lines(text);
		log_error("reload: refused, the agent goes on with the configuration it has");
		config_free(now);
	} else {
		tls_use(tls);
		the_agent.config = now;
		log_set_level(now->log);
		enrol_reload(old);
		node_reload(old);
		config_free(old);
		log_info("reload: %s is in force", now->file);
	}
	free(text);
}

/* ---- signals and readiness ---- */

static void main_on_end(evutil_socket_t sig, short what, void *arg)
{
	log_info("ending on signal %d", (int)sig);
	agent_end(&the_agent, 0);
}

static void main_on_reload(evutil_socket_t sig, short what, void *arg)
{
	if (the_agent.member)
		main_reload();
	else
		log_warning(
			"reload: not before this host has a place in the cluster; restart instead");
}

static int main_watch_signal(struct event **out, int sig, event_callback_fn call)
{
	*out = evsignal_new(the_agent.base, sig, call, NULL);
	return *out ? event_add(*out, NULL) : -1;
}

/* sd_notify(3), of which this is all that is needed. */
static void main_tell_ready(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t length;
	int fd;

	if (!path)
		return;
	length = strlen(path);
	if (length < 2 || length >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, length);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, "READY=1", 7, MSG_NOSIGNAL, (struct sockaddr *)&to,
		   offsetof(struct sockaddr_un, sun_path) + length) < 0)
		log_warning("%s: %s", path, strerror(errno));
	close(fd);
	unsetenv("NOTIFY_SOCKET");
}

/* ---- what the process is given ---- */

static void main_set_limits(void)
{
	struct rlimit files;
	FILE *oom;

	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		struct rlimit more = { MAIN_FILES, MAIN_FILES };

		files.rlim_cur = files.rlim_max;
		/* beyond the hard limit only if we may */
		if ((files.rlim_max >= MAIN_FILES || setrlimit(RLIMIT_NOFILE, &more)) &&
		    setrlimit(RLIMIT_NOFILE, &files))
			log_warning("the limit of open files stays low: %s", strerror(errno));
	}
	the_agent.nice = getpriority(PRIO_PROCESS, 0);
	oom = fopen("/proc/self/oom_score_adj", "r+e");
	if (oom && fscanf(oom, "%d", &the_agent.oom_score_adj) != 1)
		the_agent.oom_score_adj = 0;
	if (geteuid() == 0) {
		if (setpriority(PRIO_PROCESS, 0, MAIN_NICE))
			log_debug("nice: %s", strerror(errno));
		if (oom && (rewind(oom), fputs(MAIN_OOM, oom) < 0 || fflush(oom)))
			log_debug("oom_score_adj: %s", strerror(errno));
	}
	if (oom)
		fclose(oom);
}

/* Where this host stands in the cluster: as configured or kept, or asked for. 0 or -errno. */
static int main_take_place(void)
{
	struct roster *roster = store_read(the_agent.config, the_agent.config->host);
	int err;

	if (the_agent.config->njoin) {
		/* members that come later are found, too: a service manager need not wait for them */
		main_tell_ready();
		err = join_run(&roster);
		if (err)
			return err;
	} else if (roster && (roster_topology(roster)->n != the_agent.config->topology.n ||
			      roster_topology(roster)->l != the_agent.config->topology.l)) {
		log_warning("%s: not used: it is of another topology", the_agent.config->state);
		roster_free(roster);
		roster = NULL;
	}
	the_agent.self = the_agent.config->node;
	eh_code_format(&the_agent.config->topology, the_agent.self, the_agent.code);
	the_agent.member = true;
	return enrol_init(roster);
}

static int main_run(void)
{
	struct event *signals[3] = { NULL };
	int err = 1;

	the_agent.base = event_base_new();
	if (!the_agent.base)
		return 1;
	main_set_limits();
	signal(SIGPIPE, SIG_IGN);
	if (main_watch_signal(&signals[0], SIGTERM, main_on_end) ||
	    main_watch_signal(&signals[1], SIGINT, main_on_end) ||
	    main_watch_signal(&signals[2], SIGHUP, main_on_reload)) {
		log_error("signals cannot be watched");
		goto free_base;
	}
	err = cgroup_init(the_agent.config->cgroup);
	if (err)
		log_warning("%s: %s: no managed sessions, and guests without limits of their own",
			    the_agent.config->cgroup, strerror(-err));
	record_init();
	err = ctl_init();
	if (!err)
		err = main_take_place();
	if (err) {
		/* a signal is no failure */
		err = err == -EINTR ? the_agent.status : 1;
		goto exit_parts;
	}
	err = 1;
	if (node_init() || hierarchy_init() || server_init(main_routes) || kernel_init())
		goto exit_parts;
	log_info("ready: node %s of cluster %s", the_agent.code, the_agent.config->cluster);
	main_tell_ready();
	err = event_base_dispatch(the_agent.base) < 0 ? 1 : the_agent.status;
exit_parts:
	/* good-bye, nobody new, then guests, then the connections their homes wait on */
	hierarchy_leave();
	client_exit();
	leave_exit();
	ctl_exit();
	guest_shutdown();
	view_exit();
	serve_exit();
	kernel_exit();
	server_exit();
	peer_exit();
	hierarchy_exit();
	enrol_exit();
	record_exit();
	node_exit();
	stayed_exit();
	/* libevent frees connections in the loop */
	event_base_loop(the_agent.base, EVLOOP_NONBLOCK);
free_base:
	for (int i = 0; i < 3; i++)
		if (signals[i])
			event_free(signals[i]);
	event_base_free(the_agent.base);
	return err;
}

static int main_usage(FILE *to)
{
	fprintf(to,
		"usage: ehagent [-c FILE] [-t] [--join ADDRESS[:PORT]]…\n"
		"  -c FILE         configuration (default " MAIN_CONFIG ")\n"
		"  -t              check the configuration and exit\n"
		"  --join ADDRESS  a member of the cluster that gives this host its place; repeated:\n"
		"                  they are asked in turn\n"
		"ehagent(8) says more.\n");
	return to == stderr ? 2 : 0;
}

static int main_bad_join(const char *text)
{
	fprintf(stderr, "ehagent: --join: %s: not ADDRESS or ADDRESS:PORT with a numeric address\n",
		text);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "join", required_argument, NULL, 'j' },
		{ 0 },
	};
	const char *file = MAIN_CONFIG;
	struct address address;
	bool check = false;
	size_t njoin = 0;
	struct tls *tls;
	int c;

	main_joins = calloc(argc + 1, sizeof(*main_joins));
	if (!main_joins)
		return 1;
	while ((c = getopt_long(argc, argv, "c:th", options, NULL)) != -1) {
		if (c == 'c')
			file = optarg;
		else if (c == 't')
			check = true;
		else if (c != 'j')
			return main_usage(c == 'h' ? stdout : stderr);
		else if (!config_parse_join(optarg, &address))
			main_joins[njoin++] = optarg;
		else
			return main_bad_join(optarg);
	}
	if (optind != argc)
		return main_usage(stderr);
	the_agent.config = config_read(file, main_joins, stderr);
	if (!the_agent.config)
		return 2;
	tls = tls_new(the_agent.config, stderr);
	if (!tls)
		return 2;
	if (check) {
		tls_free(tls);
		config_free(the_agent.config);
		return 0;
	}
	log_set_level(the_agent.config->log);
	tls_use(tls);
	tls_own_cn(the_agent.config->host, sizeof(the_agent.config->host));
	c = main_run();
	tls_use(NULL);
	config_free(the_agent.config);
	return c;
}
