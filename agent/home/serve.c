// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Home's side of a view: an ehfiles process (for 9p: diod) for each file system, user and peer. It
 * has this user's ids and no other rights, and serves only peers that run a task of the user that
 * sees home's files. So no peer gets more than the tasks sent to it could have done.
 */

#include "home/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <linux/ehsched.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/log.h"
#include "base/reap.h"
#include "base/user.h"
#include "helpers/common/companion.h"
#include "net/h2_stream.h"
#include "net/peer.h"
#include "net/tunnel.h"
#include "wire/frame.h"
#include "wire/view.h"

#define SERVE_GROUPS_MAX 1024
#define SERVE_PATH "4095" /* EHS_PATH_MAX or less, for sscanf() */

struct serve {
	struct agent *agent;
	struct serve *next;
	struct peer *to;
	uid_t uid;
	uint8_t head[8 + EHS_PATH_MAX + 1]; /* uid, length, path */
	unsigned int have; /* bytes of `head` */
	struct tunnel pipe;
	bool is_9p;
	pid_t pid; /* of the server; 0: not started */
	struct event *idle;
	bool unused; /* at the last check */
};

struct serves {
	struct serve *list;
	serve_shown_fn shown;
};

static const char *serve_diod(void)
{
	static const char *const places[] = { "/usr/sbin/diod", "/usr/bin/diod",
					      "/usr/local/sbin/diod" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!access(places[i], X_OK))
			return places[i];
	return NULL;
}

static const char *serve_ehfiles(void)
{
	static char path[EHS_PATH_MAX + 1];

	return companion("ehfiles", path, sizeof(path));
}

const char *serve_trouble(void)
{
	return serve_ehfiles() || serve_diod()
		       ? NULL
		       : "view home needs ehfiles next to ehagent or in ../libexec/ehsched";
}

static void serve_free(struct serve *v)
{
	struct serve **at;

	for (at = &v->agent->serves->list; *at != v; at = &(*at)->next)
		;
	*at = v->next;
	tunnel_close(&v->pipe);
	if (v->pid) {
		kill(v->pid, SIGKILL);
		/* The user's files may hold it. */
		reap(v->agent, v->pid);
	}
	if (v->idle)
		event_free(v->idle);
	free(v);
}

static void serve_on_closed(void *ctx)
{
	serve_free(ctx);
}

/* Closes servers that no task needs, in case the executor keeps them open. */
static void serve_on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct serve *v = arg;
	bool unused = !v->agent->serves->shown(v->to, v->uid);

	if (unused && v->unused) {
		log_info("node %s kept the files of user %u open without a task that needs them: "
			 "closed",
			 peer_code(v->to), v->uid);
		serve_free(v);
		return;
	}
	v->unused = unused;
}

static void __attribute__((noreturn))
serve_run(const char *program, const char *const *arguments, int socket, int ours,
	  const struct passwd *user, const gid_t *groups, int ngroups, int nice)
{
	static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
	sigset_t none;
	int null = open("/dev/null", O_RDWR);

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (dup2(socket, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		_exit(1);
	/*
	 * diod gets our end too, so that it never sees it close: version 1.0.24 then frees what its
	 * threads still use. It is killed instead, by us or when we die.
	 */
	if (dup2(ours, 3) < 0)
		_exit(1);
	syscall(SYS_close_range, 4u, ~0u, 0u);
	setpriority(PRIO_PROCESS, 0, nice);
	umask(0); /* the peer sends final modes */
	if (!geteuid() && user_become(user->pw_uid, user->pw_gid, groups, ngroups))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	execve(program, (char **)arguments, (char **)environment);
	_exit(127);
}

static int serve_start(struct serve *v)
{
	const char *path = (char *)v->head + 8;
	const char *const files[] = { "ehfiles", path, NULL };
	const char *const diod[] = { "diod",	  "--foreground",
				     "--no-auth", "--rfdno",
				     "0",	  "--wfdno",
				     "0",	  "--export",
				     path,	  "--logdest",
				     "stderr",	  "--config-file",
				     "/dev/null", NULL };
	const char *program = v->is_9p ? serve_diod() : serve_ehfiles();
	struct passwd *user = getpwuid(v->uid);
	gid_t groups[SERVE_GROUPS_MAX];
	int ngroups = SERVE_GROUPS_MAX, pair[2];

	if (!program || !user || (!v->uid && !v->agent->config->allow_root) ||
	    (geteuid() && geteuid() != v->uid) ||
	    getgrouplist(user->pw_name, user->pw_gid, groups, &ngroups) < 0)
		return -EPERM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	v->pid = fork();
	if (!v->pid)
		serve_run(program, v->is_9p ? diod : files, pair[1], pair[0], user, groups, ngroups,
			  v->agent->nice);
	close(pair[1]);
	if (v->pid < 0) {
		v->pid = 0;
		close(pair[0]);
		return -EAGAIN;
	}
	return tunnel_open(&v->pipe, v->agent->base, pair[0], serve_on_closed, v);
}

/* Length of the header (uid and mount point) as far as known; 0: invalid. */
static size_t serve_head(const struct serve *v)
{
	uint32_t length;

	if (v->have < 8)
		return 8;
	length = frame_get_u32(v->head + 4);
	return length && length <= EHS_PATH_MAX ? 8 + length : 0;
}

static int serve_data(void *ctx, const uint8_t *data, size_t length)
{
	struct serve *v = ctx;
	const struct timeval look = { v->agent->config->link_idle / 1000 + 1, 0 };
	size_t n = 0;
	int err;

	while (v->have < serve_head(v) && n < length)
		v->head[v->have++] = data[n++];
	h2_stream_consume(v->pipe.stream, n);
	if (!serve_head(v))
		return -EPROTO;
	if (v->have < serve_head(v))
		return 0;
	v->head[v->have] = '\0';
	v->uid = frame_get_u32(v->head);
	if (!v->agent->serves->shown(v->to, v->uid)) {
		log_warning("refused node %s the files of user %u: no task there needs them",
			    peer_code(v->to), v->uid);
		return -EPERM;
	}
	err = serve_start(v);
	if (err) {
		log_warning("cannot serve the files of user %u to node %s: %s", v->uid,
			    peer_code(v->to), strerror(-err));
		return err;
	}
	if (event_add(v->idle, &look))
		return -ENOMEM;
	h2_stream_accept(v->pipe.stream, &tunnel_ops, &v->pipe);
	h2_stream_resume(v->pipe.stream);
	return n < length ? tunnel_ops.data(&v->pipe, data + n, length - n) : 0;
}

static ssize_t serve_produce(void *ctx, uint8_t *buf, size_t room)
{
	return 0;
}

static void serve_closed(void *ctx, bool clean)
{
	struct serve *v = ctx;

	v->pipe.stream = NULL;
	serve_free(v);
}

static const struct h2_stream_ops serve_ops = {
	.data = serve_data,
	.produce = serve_produce,
	.closed = serve_closed,
};

/* ---- what there is ---- */

/* Excludes file systems without files, and those that belong to each kernel. */
static bool serve_is_files(const char *path, const char *type)
{
	static const char *const not [] = {
		"proc",	   "sysfs",	"devtmpfs",    "devpts",     "cgroup",	   "cgroup2",
		"pstore",  "bpf",	"tracefs",     "debugfs",    "mqueue",	   "hugetlbfs",
		"fusectl", "nsfs",	"efivarfs",    "autofs",     "securityfs", "configfs",
		"ramfs",   "selinuxfs", "binfmt_misc", "rpc_pipefs",
	};
	static const char *const below[] = { "/proc", "/sys", "/dev" };
	size_t i, n;

	for (i = 0; i < sizeof(not ) / sizeof(not [0]); i++)
		if (!strcmp(type, not [i]))
			return false;
	for (i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		n = strlen(below[i]);
		if (!strncmp(path, below[i], n) && (!path[n] || path[n] == '/'))
			return false;
	}
	return true;
}

/* mountinfo escapes blanks and the like in octal. */
static void serve_unescape(char *path)
{
	char *to = path;

	for (; *path; path++) {
		if (*path == '\\' && strspn(path + 1, "01234567") >= 3) {
			*to++ = (path[1] - '0') << 6 | (path[2] - '0') << 3 | (path[3] - '0');
			path += 3;
		} else {
			*to++ = *path;
		}
	}
	*to = '\0';
}

/* The server does not look below mount points: the executor mounts each file system. */
json_t *serve_mounts(struct agent *agent, struct peer *from, const json_t *body, int *status)
{
	const json_t *uid = json_object_get(body, "uid");
	char line[2 * EHS_PATH_MAX + 1024], path[EHS_PATH_MAX + 1], type[64], *dash;
	json_t *mounts;
	FILE *f;

	if (!json_is_integer(uid) || !agent->serves->shown(from, json_integer_value(uid))) {
		*status = 403;
		return json_pack("{s:s}", "error", "no task of this user on that node needs them");
	}
	f = fopen("/proc/self/mountinfo", "re");
	mounts = json_pack("[s]", "/");
	while (f && fgets(line, sizeof(line), f)) {
		dash = strstr(line, " - ");
		if (!dash || sscanf(line, "%*s %*s %*s %*s %" SERVE_PATH "s", path) != 1 ||
		    sscanf(dash, " - %63s", type) != 1)
			continue;
		serve_unescape(path);
		/* A comma would end the mount option that holds the path. */
		if (path[1] && serve_is_files(path, type) && !strchr(path, ','))
			json_array_append_new(mounts, json_string(path));
	}
	if (f)
		fclose(f);
	if (json_array_size(mounts) > VIEW_TREES_MAX) {
		json_decref(mounts);
		*status = 500;
		return json_pack("{s:s}", "error", "more file systems than a view can hold");
	}
	return json_pack("{s:o}", "mounts", mounts);
}

/* ---- the server ---- */

static int serve_open(struct peer *from, struct h2_stream *s, bool is_9p,
		      const struct h2_stream_ops **ops, void **ctx)
{
	struct serve *v = calloc(1, sizeof(*v));

	if (!v)
		return 503;
	v->to = from;
	v->is_9p = is_9p;
	v->pipe.fd = -1;
	v->idle = event_new(from->agent->base, -1, EV_PERSIST, serve_on_idle, v);
	if (!v->idle) {
		free(v);
		return 503;
	}
	v->pipe.stream = s;
	v->agent = from->agent;
	v->next = from->agent->serves->list;
	from->agent->serves->list = v;
	*ops = &serve_ops;
	*ctx = v;
	return 0;
}

int serve_files(struct agent *agent, struct peer *from, struct h2_stream *s,
		const struct h2_stream_ops **ops, void **ctx)
{
	return serve_open(from, s, false, ops, ctx);
}

int serve_9p(struct agent *agent, struct peer *from, struct h2_stream *s,
	     const struct h2_stream_ops **ops, void **ctx)
{
	return serve_open(from, s, true, ops, ctx);
}

int serve_init(struct agent *agent, serve_shown_fn shown)
{
	agent->serves = calloc(1, sizeof(*agent->serves));
	if (!agent->serves)
		return -ENOMEM;
	agent->serves->shown = shown;
	return 0;
}

void serve_exit(struct agent *agent)
{
	if (!agent->serves)
		return;
	while (agent->serves->list)
		serve_free(agent->serves->list);
	free(agent->serves);
	agent->serves = NULL;
}
