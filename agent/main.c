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

#include "agent.h"
#include "control.h"
#include "h2.h"
#include "knl.h"
#include "local.h"
#include "log.h"
#include "node.h"
#include "record.h"
#include "server.h"
#include "tls.h"

#define MAIN_CONFIG "/etc/ehsched/agent.conf"
#define MAIN_FILES 65536 /* three for each task that is away, four for each guest */
#define MAIN_NICE -10 /* execs wait for us: we come before what overloads the node */
#define MAIN_OOM "-500" /* without us the tasks that are away would be lost */

struct agent agent;

static const struct h2_route main_routes[] = {
	{ .method = "POST", .path = "/v1/control", .later = control_on_message },
	{ .method = "POST", .path = "/v1/drain", .json = control_on_drain },
	{ .method = "GET", .path = "/v1/nodes", .later = gather_on_nodes },
	{ .method = "POST", .path = "/v1/reserve", .later = guest_reserve },
	{ .method = "POST", .path = "/v1/job", .stream = guest_job },
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
	struct config *old = agent.config, *now;
	struct tls *tls = NULL;
	char *text = NULL;
	size_t size;
	FILE *errors = open_memstream(&text, &size);

	if (!errors) {
		log_error("reload: no memory");
		return;
	}
	now = config_read(old->file, errors);
	if (now && config_may_replace(old, now, errors))
		tls = tls_new(now, errors);
	fclose(errors);
	if (!tls) {
		main_log_lines(text);
		log_error("reload: refused, the agent goes on with the configuration it has");
		config_free(now);
	} else {
		tls_use(tls);
		agent.config = now;
		log_set_level(now->log);
		peer_reload();
		server_reload();
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
	event_base_loopbreak(agent.base);
}

static void main_on_reload(evutil_socket_t sig, short what, void *arg)
{
	main_reload();
}

static int main_watch_signal(struct event **out, int sig, event_callback_fn call)
{
	*out = evsignal_new(agent.base, sig, call, NULL);
	return *out ? event_add(*out, NULL) : -1;
}

/* sd_notify(3), of which this is all that is needed. */
static void main_tell_ready(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t length;
	int fd;

	log_info("ready: node %s of cluster %s", agent.code, agent.config->cluster);
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
	agent.nice = getpriority(PRIO_PROCESS, 0);
	oom = fopen("/proc/self/oom_score_adj", "r+e");
	if (oom && fscanf(oom, "%d", &agent.oom_score_adj) != 1)
		agent.oom_score_adj = 0;
	if (geteuid() == 0) {
		if (setpriority(PRIO_PROCESS, 0, MAIN_NICE))
			log_debug("nice: %s", strerror(errno));
		if (oom && (rewind(oom), fputs(MAIN_OOM, oom) < 0 || fflush(oom)))
			log_debug("oom_score_adj: %s", strerror(errno));
	}
	if (oom)
		fclose(oom);
}

static int main_run(void)
{
	struct event *signals[3] = { NULL };
	int err = 1;

	agent.base = event_base_new();
	if (!agent.base)
		return 1;
	main_set_limits();
	signal(SIGPIPE, SIG_IGN);
	if (main_watch_signal(&signals[0], SIGTERM, main_on_end) ||
	    main_watch_signal(&signals[1], SIGINT, main_on_end) ||
	    main_watch_signal(&signals[2], SIGHUP, main_on_reload)) {
		log_error("signals cannot be watched");
		goto free_base;
	}
	err = cgroup_init(agent.config->cgroup);
	if (err)
		log_warning("%s: %s: no managed sessions, and guests without limits of their own",
			    agent.config->cgroup, strerror(-err));
	err = 1;
	record_init();
	if (peer_init() || node_init() || control_init())
		goto exit_parts;
	if (server_init(main_routes) || local_init() || knl_init())
		goto exit_parts;
	main_tell_ready();
	err = event_base_dispatch(agent.base) < 0;
	if (err)
		log_error("the event loop failed");
exit_parts:
	/* nobody new, then guests, then the connections their homes wait on */
	request_exit();
	local_exit();
	guest_shutdown();
	knl_exit();
	server_exit();
	peer_exit();
	control_exit();
	record_exit();
	node_exit();
	/* libevent frees connections in the loop */
	event_base_loop(agent.base, EVLOOP_NONBLOCK);
free_base:
	for (int i = 0; i < 3; i++)
		if (signals[i])
			event_free(signals[i]);
	event_base_free(agent.base);
	return err;
}

static int main_usage(FILE *to)
{
	fprintf(to, "usage: ehagent [-c FILE] [-t]\n"
		    "  -c FILE  configuration (default " MAIN_CONFIG ")\n"
		    "  -t       check the configuration and exit\n"
		    "ehagent(8) says more.\n");
	return to == stderr ? 2 : 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *file = MAIN_CONFIG;
	bool check = false;
	struct tls *tls;
	int c;

	while ((c = getopt_long(argc, argv, "c:th", options, NULL)) != -1) {
		if (c == 'c')
			file = optarg;
		else if (c == 't')
			check = true;
		else
			return main_usage(c == 'h' ? stdout : stderr);
	}
	if (optind != argc)
		return main_usage(stderr);
	agent.config = config_read(file, stderr);
	if (!agent.config)
		return 2;
	tls = tls_new(agent.config, stderr);
	if (!tls)
		return 2;
	if (check) {
		tls_free(tls);
		config_free(agent.config);
		return 0;
	}
	log_set_level(agent.config->log);
	tls_use(tls);
	agent.self = agent.config->node;
	eh_code_format(&agent.config->topology, agent.self, agent.code);
	c = main_run();
	tls_use(NULL);
	config_free(agent.config);
	return c;
}
