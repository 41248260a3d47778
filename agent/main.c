// SPDX-License-Identifier: GPL-2.0-or-later
/* ehagent: arguments, set-up, signals, reload, end. */

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/config_file.h"
#include "base/config_kind.h"
#include "base/event.h"
#include "base/config_rules.h"
#include "base/launch_options.h"
#include "base/log.h"
#include "base/notify.h"
#include "cluster/address.h"
#include "cluster/roster.h"
#include "eh/topology.h"
#include "helpers/common/companion.h"
#include "net/tls.h"
#include "wiring.h"
#include "version.h"
#include "wire/clean.h"

#define MAIN_CONFIG "/etc/ehsched/agent.conf"
#define MAIN_FILES 65536 /* three for each task that is away, four for each guest */
#define MAIN_NICE (-10) /* execs wait for us, so we must outrank the tasks that overload the node */
#define MAIN_KEPT (1 << 20) /* bytes of freed memory: what a job fills is taken again at once */
#define MAIN_OOM "-500" /* without us the tasks that are away would be lost */

static const char **main_joins; /* values of --join; NULL-terminated */

/* ---- configuration ---- */

/* Logs the errors of a reload line by line. */
static void main_log_lines(const char *text)
{
	for (int n; text && *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (n)
			log_error("%.*s", n, text);
	}
}

/* All users see it, so that of the errors it has the first one's place alone: they quote the file. */
static void main_tell_reload(struct agent *agent, const char *why)
{
	const char *file = agent->config->file;
	const size_t n = strlen(file);
	int line = 0;

	if (why && !strncmp(why, file, n) && why[n] == ':')
		line = atoi(why + n + 1);
	event_tell(agent, "reload",
		   !why ? json_pack("{s:s}", "node", agent->code)
		   : line > 0
			   ? json_pack("{s:s,s:o}", "node", agent->code, "refused",
				       json_sprintf("line %d, see its log", line))
			   : json_pack("{s:s,s:s}", "node", agent->code, "refused", "see its log"));
}

static int main_reload(struct agent *agent, char **why)
{
	const struct config *old = agent->config;
	struct config *now;
	struct tls *tls = NULL;
	size_t size;
	FILE *errors;

	*why = NULL;
	errors = open_memstream(why, &size);
	if (!errors) {
		log_error("reload: out of memory");
		return -1;
	}
	now = config_read(old->file, main_joins, errors);
	/* With `join` the host keeps the place that the cluster gave it. */
	if (now &&
	    (!now->njoin || config_adopt(now, old->host, &old->topology, old->node, errors)) &&
	    config_may_replace(old, now, errors))
		tls = tls_new(now, errors);
	fclose(errors);
	if (!tls) {
		main_log_lines(*why);
		log_error("reload: rejected, keeping the current configuration");
		notify_status("Reload refused: %s", *why ?: "out of memory");
		main_tell_reload(agent, *why ?: "out of memory");
		config_free(now);
		return -1;
	}
	wiring_reload(agent, now, tls);
	log_info("reload: %s is now in effect", now->file);
	notify_status("%s is in effect", now->file);
	main_tell_reload(agent, NULL);
	return 0;
}

/* ---- signals ---- */

static void main_on_end(evutil_socket_t sig, short what, void *arg)
{
	log_info("terminating on signal %d", (int)sig);
	agent_end(arg, 0);
}

static void main_on_reload(evutil_socket_t sig, short what, void *arg)
{
	struct agent *agent = arg;
	char *why = NULL;

	if (agent->member)
		main_reload(agent, &why);
	else
		log_warning(
			"reload: not possible before this host has joined the cluster; restart instead");
	free(why);
}

static int main_watch_signal(struct agent *agent, struct event **out, int sig,
			     event_callback_fn call)
{
	*out = evsignal_new(agent->base, sig, call, agent);
	return *out ? event_add(*out, NULL) : -1;
}

/* ---- what the process is given ---- */

static void main_set_limits(struct agent *agent)
{
	struct rlimit files;
	FILE *oom;

	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		struct rlimit more = { MAIN_FILES, MAIN_FILES };

		files.rlim_cur = files.rlim_max;
		/* Above the hard limit only if we may. */
		if ((files.rlim_max >= MAIN_FILES || setrlimit(RLIMIT_NOFILE, &more)) &&
		    setrlimit(RLIMIT_NOFILE, &files))
			log_warning("cannot raise the limit of open files: %s", strerror(errno));
	}
	mallopt(M_TRIM_THRESHOLD, MAIN_KEPT);
	agent->nice = getpriority(PRIO_PROCESS, 0);
	oom = fopen("/proc/self/oom_score_adj", "r+e");
	if (oom && fscanf(oom, "%d", &agent->oom_score_adj) != 1)
		agent->oom_score_adj = 0;
	if (geteuid() == 0) {
		if (setpriority(PRIO_PROCESS, 0, MAIN_NICE))
			log_debug("nice: %s", strerror(errno));
		if (oom && (rewind(oom), fputs(MAIN_OOM, oom) < 0 || fflush(oom)))
			log_debug("oom_score_adj: %s", strerror(errno));
	}
	if (oom)
		fclose(oom);
}

static int main_run(struct agent *agent, struct tls *tls)
{
	struct event *signals[3] = { NULL };
	sigset_t all;
	int err = 1;

	agent->began = clock_ms();
	agent->base = event_base_new();
	if (!agent->base) {
		tls_free(tls);
		return 1;
	}
	main_set_limits(agent);
	signal(SIGPIPE, SIG_IGN);
	if (main_watch_signal(agent, &signals[0], SIGTERM, main_on_end) ||
	    main_watch_signal(agent, &signals[1], SIGINT, main_on_end) ||
	    main_watch_signal(agent, &signals[2], SIGHUP, main_on_reload)) {
		log_error("cannot watch signals");
		tls_free(tls);
		goto free_base;
	}
	agent->reload = main_reload;
	if (notify_watch(agent))
		log_warning("the watchdog is not told anything: out of memory");
	err = wiring_start(agent, tls, notify_ready);
	if (!err) {
		log_info("ready: node %s of cluster %s", agent->code, agent->config->cluster);
		err = event_base_dispatch(agent->base) < 0 ? 1 : agent->status;
	} else {
		/* Ended by a signal is not an error. */
		err = err == -EINTR ? agent->status : 1;
	}
	wiring_stop(agent);
	notify_exit(agent);
free_base:
	/* A second SIGTERM ends what is ending already: it does not change how. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < 3; i++)
		agent_free_event(&signals[i]);
	event_base_free(agent->base);
	return err;
}

/* Words of the command line and of files are in it. */
static void main_print(FILE *to, const char *text)
{
	const size_t size = strlen(text) + 1;
	char *clean = malloc(size);

	fputs(clean ? clean_lines(clean, size, text) : "out of memory\n", to);
	free(clean);
}

static int main_usage(FILE *to)
{
	fprintf(to, "usage: ehagent [-c FILE] [-t | --launch] [--join ADDRESS[:PORT]]…\n"
		    "       ehagent --version\n"
		    "  -c FILE         configuration file (default " MAIN_CONFIG ")\n"
		    "  -t              check the configuration, print its rules and exit\n"
		    "  --launch        become ehlaunch, with these rules\n"
		    "  --join ADDRESS  join the cluster through the member at ADDRESS; if given\n"
		    "                  more than once, the members are asked in turn\n"
		    "See ehagent(8) for details.\n");
	return to == stderr ? 2 : 0;
}

static int main_version(void)
{
	printf("ehagent %s\n", VERSION);
	return fflush(stdout) ? 1 : 0;
}

/* One that getopt_long() does not take; it would print it as it is. */
static int main_bad_option(const char *last)
{
	char text[PATH_MAX], letter[] = { '-', (char)optopt, '\0' };

	snprintf(text, sizeof(text),
		 "ehagent: %s: unknown, or its value is missing or not wanted\n",
		 strncmp(last, "--", 2) ? letter : last);
	main_print(stderr, text);
	return main_usage(stderr);
}

static int main_check(const struct config *config)
{
	char *text = NULL;
	size_t size;
	FILE *rules = open_memstream(&text, &size);

	if (!rules)
		return 1;
	config_rules_print(config, rules);
	if (fclose(rules) || !text)
		return 1;
	main_print(stdout, text);
	free(text);
	return fflush(stdout) ? 1 : 0;
}

/* Returns only if that fails. */
static int main_launch(const struct config *config)
{
	char path[PATH_MAX], self[PATH_MAX], *none[] = { NULL }, **argv;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0 || !companion("ehlaunch", path, sizeof(path))) {
		fprintf(stderr, "ehagent: ehlaunch is not installed beside this program\n");
		return 1;
	}
	self[n] = '\0';
	argv = launch_options(config, self);
	if (argv)
		execve(path, argv, none);
	fprintf(stderr, "ehagent: %s: %s\n", path, strerror(errno));
	free(argv);
	return 1;
}

static int main_bad_join(const char *given)
{
	char text[PATH_MAX];

	snprintf(text, sizeof(text),
		 "ehagent: --join: %s: not ADDRESS or ADDRESS:PORT with a numeric address\n",
		 given);
	main_print(stderr, text);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "join", required_argument, NULL, 'j' },
		{ "launch", no_argument, NULL, 'l' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	char real[PATH_MAX], why[CONFIG_FILE_WHY];
	const char *file = MAIN_CONFIG;
	struct agent agent = { .release = VERSION };
	struct address address;
	bool check = false, launch = false;
	size_t njoin = 0;
	struct tls *tls = NULL;
	char *said = NULL;
	size_t size;
	FILE *errors;
	int c;

	opterr = 0;
	main_joins = calloc(argc + 1, sizeof(*main_joins));
	if (!main_joins)
		return 1;
	while ((c = getopt_long(argc, argv, "c:th", options, NULL)) != -1) {
		if (c == 'c')
			file = optarg;
		else if (c == 't')
			check = true;
		else if (c == 'l')
			launch = true;
		else if (c == 'V')
			return main_version();
		else if (c == 'h')
			return main_usage(stdout);
		else if (c != 'j')
			return main_bad_option(argv[optind - 1]);
		else if (!config_parse_join(optarg, &address))
			main_joins[njoin++] = optarg;
		else
			return main_bad_join(optarg);
	}
	if (optind != argc || (check && launch))
		return main_usage(stderr);
	/* Rules that another user can change are not root's. The path is kept, so that the checked file is read. */
	if (launch && !geteuid()) {
		if (!config_file_is_roots(file, real, why)) {
			main_print(stderr, why);
			fputc('\n', stderr);
			return 2;
		}
		file = real;
	}
	errors = open_memstream(&said, &size);
	if (!errors)
		return 1;
	agent.config = config_read(file, main_joins, errors);
	if (agent.config && !launch)
		tls = tls_new(agent.config, errors);
	fclose(errors);
	main_print(stderr, said ?: "ehagent: out of memory\n");
	free(said);
	if (!agent.config)
		return 2;
	if (launch)
		return main_launch(agent.config);
	if (!tls)
		return 2;
	if (check) {
		c = main_check(agent.config);
		tls_free(tls);
		config_free(agent.config);
		return c;
	}
	log_set_levels(&agent.config->log);
	return main_run(&agent, tls);
}
