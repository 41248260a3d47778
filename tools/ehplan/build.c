// SPDX-License-Identifier: GPL-2.0-or-later
/* The tool, and the processes that stand for its commands. */
#include "build.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ehplan.h"
#include "helpers/common/companion.h"
#include "plan/names.h"
#include "remote.h"
#include "tools/common/runtime.h"

#define LISTENER UINT64_MAX
#define STRANGER (UINT64_C(1) << 32) /* a descriptor that has not said yet for which task it is */

/* ---- the directory ---- */

/* Another user who could write there could run commands as this one, so none can. */
static int make_folder(struct build *b)
{
	char self[4096], path[sizeof(b->folder) + 16];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int err = runtime_folder(b->folder, sizeof(b->folder), "ehdag");

	if (err)
		return fail(EXIT_REFUSED, "a directory for sockets: %s", strerror(-err));
	/* make treats a shell of this name as one, whatever it is */
	snprintf(path, sizeof(path), "%s/sh", b->folder);
	if (n < 0)
		return fail(EXIT_REFUSED, "/proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	return symlink(self, path) ? fail(EXIT_REFUSED, "%s: %s", path, strerror(errno)) : 0;
}

static void remove_folder(const struct build *b)
{
	static const char *const names[] = { "sh", "socket", "here" };
	char path[sizeof(b->folder) + 16];

	if (!*b->folder)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", b->folder, names[i]);
		unlink(path);
	}
	rmdir(b->folder);
}

int build_environment(const struct build *b, int lock)
{
	char number[16];
	int err;

	/* below another make this is a build of its own */
	if (getenv("MAKELEVEL")) {
		unsetenv("MAKELEVEL");
		unsetenv("MAKEFLAGS");
		unsetenv("MFLAGS");
	}
	/* Without SHELL there, make would export its own, which is ours. */
	err = (!b->ninja && setenv("SHELL", "", 0)) || setenv(BUILD_FOLDER, b->folder, 1) ||
	      setenv(BUILD_SHELL, b->shell ? b->shell : "/bin/sh", 1) ||
	      setenv(BUILD_FLAGS, b->flags ? b->flags : "-c", 1);

	if (lock < 0)
		return err ? -1 : 0;
	snprintf(number, sizeof(number), "%d", lock);
	return err || setenv(BUILD_LOCK, number, 1) || fcntl(lock, F_SETFD, 0) ? -1 : 0;
}

int build_open(struct build *b, struct workflow *w)
{
	int code;

	b->listener = b->events = -1;
	*w = (struct workflow){ 0 };
	code = make_folder(b);
	if (code)
		return code;
	return b->ninja ? build_ninja_read(b, w) : build_make_read(b, w);
}

void build_close(struct build *b)
{
	for (uint32_t i = 0; i < b->nlines; i++) {
		if (b->lines[i].fd >= 0)
			close(b->lines[i].fd);
		free(b->lines[i].where);
		free(b->lines[i].text);
	}
	if (b->listener >= 0)
		close(b->listener);
	if (b->events >= 0)
		close(b->events);
	if (b->places)
		plan_names_free(b->places);
	remove_folder(b);
	free(b->lines);
	free(b->first);
	free(b->directory);
	free(b->shell);
	free(b->flags);
}

/* ---- the tool ---- */

static int watch(const struct build *b, int fd, uint64_t what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = what };

	return epoll_ctl(b->events, EPOLL_CTL_ADD, fd, &event);
}

static int listen_here(struct build *b)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/socket", b->folder);
	b->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	b->events = epoll_create1(EPOLL_CLOEXEC);
	if (b->listener < 0 || b->events < 0 ||
	    bind(b->listener, (struct sockaddr *)&at, sizeof(at)) || listen(b->listener, 4096) ||
	    watch(b, b->listener, LISTENER))
		return fail(EXIT_REFUSED, "%s: %s", at.sun_path, strerror(errno));
	return 0;
}

static char **tool_words(const struct build *b, unsigned int jobs, char *const text[3])
{
	size_t n = 0, count = 0;
	char **argv;

	while (b->args[count])
		count++;
	argv = calloc(count + 8, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[n++] = (char *)(b->ninja ? "ninja" : "make");
	/* before the rest: behind it might be a -- */
	argv[n++] = text[0];
	argv[n++] = (char *)"-k";
	if (b->ninja)
		argv[n++] = (char *)"0";
	else
		for (size_t i = 1; i < 3; i++)
			argv[n++] = text[i];
	memcpy(argv + n, b->args, count * sizeof(*argv));
	return argv;
}

/* ninja has no setting for its shell. */
static int preload(void)
{
	const char *already = getenv("LD_PRELOAD");
	char path[4096], *all = NULL;
	int err;

	if (!companion("ehspawn.so", path, sizeof(path)))
		return fail(
			EXIT_REFUSED,
			"ehspawn.so is installed neither next to ehplan nor in ../libexec/ehsched");
	if (asprintf(&all, "%s:%s", path, already ? already : "") < 0)
		return fail(EXIT_REFUSED, "no memory for a command");
	err = setenv("LD_PRELOAD", all, 1);
	free(all);
	return err ? fail(EXIT_REFUSED, "LD_PRELOAD: %s", strerror(errno)) : 0;
}

int build_start(struct build *b, unsigned int jobs, int out, int lock)
{
	char number[16], shell[sizeof(b->folder) + 16];
	static char flags[] = ".SHELLFLAGS=--line '$(MAKELEVEL)' " BUILD_TARGET " -c";
	char *const text[3] = { number, shell, flags };
	char **argv = tool_words(b, jobs, text);
	int code;

	if (!argv)
		return fail(EXIT_REFUSED, "no memory for a command");
	code = listen_here(b);
	if (code)
		goto out;
	snprintf(number, sizeof(number), "-j%u", jobs);
	snprintf(shell, sizeof(shell), "SHELL=%s/sh", b->folder);
	fflush(NULL);
	b->pid = fork();
	if (b->pid < 0) {
		b->pid = 0;
		code = fail(EXIT_REFUSED, "%s: %s", argv[0], strerror(errno));
		goto out;
	}
	if (!b->pid) {
		setsid();
		remote_default_signals();
		if (build_environment(b, lock) || remote_place(-1, STDIN_FILENO) ||
		    remote_place(out, STDOUT_FILENO))
			_exit(EXIT_REFUSED);
		if (b->ninja && preload())
			_exit(EXIT_REFUSED);
		execvp(argv[0], argv);
		_exit(fail(127, "%s: %s", argv[0], strerror(errno)));
	}
out:
	free(argv);
	return code;
}

/* ---- its commands ---- */

static void accept_all(struct build *b)
{
	int fd;

	while ((fd = accept4(b->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		if (watch(b, fd, STRANGER | (uint32_t)fd))
			close(fd);
}

/* The line that has not come yet: with the same text, or the next of the same target. */
static uint32_t find_line(const struct build *b, const char *where, const char *text)
{
	int64_t place = b->places ? plan_names_find(b->places, where) : -1;
	uint32_t next = BUILD_NO_TASK;

	if (place < 0)
		return BUILD_NO_TASK;
	for (uint32_t t = b->first[place]; t != BUILD_NO_TASK; t = b->lines[t].next) {
		if (b->lines[t].came)
			continue;
		if (!strcmp(b->lines[t].text, text))
			return t;
		if (next == BUILD_NO_TASK)
			next = t;
	}
	return next;
}

/* Which task the message asks for; BUILD_NO_TASK: one that was not foreseen. */
static uint32_t asked_for(const struct build *b, char *message, size_t n)
{
	char *word[4], where[8192], *at = message + 1, *end = message + n;

	for (size_t i = 0; i < 4; i++) {
		word[i] = at;
		at = memchr(at, '\0', end - at);
		if (!at)
			return BUILD_NO_TASK;
		at++;
	}
	if (b->ninja)
		return find_line(b, word[3], word[3]);
	snprintf(where, sizeof(where), "%s/%s", word[1], word[2]);
	return find_line(b, where, word[3]);
}

static enum build_what take_question(struct build *b, int fd, struct build_event *event)
{
	static char message[BUILD_MESSAGE_MOST + 1];
	static const char here = BUILD_HERE;
	struct epoll_event change = { .events = EPOLLIN };
	ssize_t n = recv(fd, message, sizeof(message) - 1, MSG_DONTWAIT);
	uint32_t task;

	if (n <= 0 || *message != BUILD_ASKS) {
		close(fd);
		return BUILD_NOTHING;
	}
	message[n] = '\0';
	task = asked_for(b, message, n);
	if (task == BUILD_NO_TASK) {
		send(fd, &here, 1, MSG_NOSIGNAL);
		close(fd);
		return BUILD_NOTHING;
	}
	change.data.u64 = task;
	epoll_ctl(b->events, EPOLL_CTL_MOD, fd, &change);
	b->lines[task].fd = fd;
	b->lines[task].came = true;
	event->task = task;
	return BUILD_CAME;
}

static enum build_what take_word(struct build *b, uint32_t task, struct build_event *event)
{
	struct {
		char word;
		union {
			pid_t pid;
			struct build_status status;
		} __attribute__((packed));
	} __attribute__((packed)) m;
	ssize_t n = recv(b->lines[task].fd, &m, sizeof(m), MSG_DONTWAIT);

	event->task = task;
	if (n == 1 + sizeof(m.pid) && m.word == BUILD_STARTED) {
		event->pid = m.pid;
		return BUILD_RUNS;
	}
	if (n == 1 + sizeof(m.status) && m.word == BUILD_STATUS) {
		event->status = m.status.status;
		event->start = m.status.start;
		event->finish = m.status.finish;
		return BUILD_ENDED;
	}
	close(b->lines[task].fd);
	b->lines[task].fd = -1;
	return BUILD_LOST;
}

enum build_what build_next(struct build *b, struct build_event *event)
{
	struct epoll_event ready;

	while (b->events >= 0 && epoll_wait(b->events, &ready, 1, 0) == 1) {
		enum build_what what = BUILD_NOTHING;

		if (ready.data.u64 == LISTENER)
			accept_all(b);
		else if (ready.data.u64 & STRANGER)
			what = take_question(b, (int)(ready.data.u64 & UINT32_MAX), event);
		else
			what = take_word(b, (uint32_t)ready.data.u64, event);
		if (what != BUILD_NOTHING)
			return what;
	}
	return BUILD_NOTHING;
}

int build_send(struct build *b, uint32_t task, const struct cluster_host *host, const char *view)
{
	char message[512];
	int n = snprintf(message, sizeof(message), "%c%c%s%c%s", BUILD_GO, host->self ? '1' : '0',
			 host->name, '\0', view ? view : "");

	if (n >= (int)sizeof(message))
		return -ENAMETOOLONG;
	return send(b->lines[task].fd, message, n + 1, MSG_NOSIGNAL) == n + 1 ? 0 : -EPIPE;
}

void build_finish(struct build *b, uint32_t task)
{
	static const char over = BUILD_OVER;

	if (b->lines[task].fd < 0)
		return;
	send(b->lines[task].fd, &over, 1, MSG_NOSIGNAL);
	close(b->lines[task].fd);
	b->lines[task].fd = -1;
}
