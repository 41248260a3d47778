// SPDX-License-Identifier: GPL-2.0-or-later
/* ehplan in place of the shell of make or ninja: runs one command where it is told to. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "build.h"
#include "ehplan.h"
#include "remote.h"

#define FLAGS_MOST 32

/* The words that the tool would have started. */
struct line {
	char *level, *target; /* of make; empty: this is not a line of a recipe */
	char *text;
	char *words[FLAGS_MOST + 3];
	char *flags; /* which words are in */
};

static void forget_environment(void)
{
	unsetenv(BUILD_FOLDER);
	unsetenv(BUILD_LOCK);
	unsetenv(BUILD_SHELL);
	unsetenv(BUILD_FLAGS);
}

static int fill_words(struct line *l)
{
	const char *shell = getenv(BUILD_SHELL), *flags = getenv(BUILD_FLAGS);
	char *rest, *word;
	size_t n = 0;

	if (!shell || !flags)
		return fail(EXIT_USAGE, "--line is for `ehctl dag --make` and `--ninja` only");
	l->words[n++] = strdup(shell);
	rest = l->flags = strdup(flags);
	if (!l->words[0] || !rest)
		return fail(EXIT_REFUSED, "no memory for a command");
	while (n <= FLAGS_MOST && (word = strsep(&rest, " \t")))
		if (*word)
			l->words[n++] = word;
	l->words[n] = l->text;
	return 0;
}

/* A makefile that exports SHELL means its own. An empty one is that of build_environment(): a make
 * below needs it. */
static void restore_shell(bool make_below)
{
	const char *shell = getenv("SHELL"), *folder = getenv(BUILD_FOLDER),
		   *own = getenv(BUILD_SHELL);
	size_t n = folder ? strlen(folder) : 0;

	if (shell && n && own && !strncmp(shell, folder, n) && !strcmp(shell + n, "/sh"))
		setenv("SHELL", own, 1);
	else if (shell && !*shell && !make_below)
		unsetenv("SHELL");
}

/* As if nobody stood between. What make needs to go on so in a make below it stays. */
static int run_here(const struct line *l)
{
	restore_shell(true);
	execvp(l->words[0], l->words);
	return fail(errno == ENOENT ? 127 : 126, "%s: %s", l->words[0], strerror(errno));
}

/* $(shell …) of make 4.3 is told apart by its environment, which is that of make itself. */
static bool is_recipe(const struct line *l)
{
	const char *level = getenv("MAKELEVEL");

	if (!*l->target)
		return !*l->level; /* ninja has no levels */
	return level && strtoul(level, NULL, 10) == strtoul(l->level, NULL, 10) + 1;
}

/* ---- make -n runs only lines with + or $(MAKE): they are noted, because no other host may have them ---- */

static int dry(const struct line *l)
{
	const char *folder = getenv(BUILD_FOLDER);
	char path[160], *where = getcwd(NULL, 0), *note = NULL;
	int fd = -1, n = -1;

	if (folder && where && is_recipe(l)) {
		snprintf(path, sizeof(path), "%s/here", folder);
		n = asprintf(&note, "%s\037%s\037%s%c", where, l->target, l->text, '\0');
		fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	}
	if (n > 0 && (fd < 0 || write(fd, note, n) != n))
		return fail(EXIT_REFUSED, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	free(where);
	free(note);
	return run_here(l);
}

/* ---- the environment of a command that is sent away ---- */

/* Takes out of make's flags what only holds inside of it: the shell that is this program, and the
 * descriptors of its job server. */
static void clean_flags(const char *name)
{
	static const char *const inside[] = { "SHELL=", ".SHELLFLAGS=", "--jobserver-", "-j",
					      "--sync-mutex" };
	const char *flags = getenv(name);
	char *kept = flags ? malloc(strlen(flags) + 1) : NULL, *to = kept;

	for (const char *at = flags; kept && *at;) {
		const char *end = at;
		bool ours = false;

		while (*end && *end != ' ')
			end += *end == '\\' && end[1] ? 2 : 1;
		for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
			ours = ours || !strncmp(at, inside[i], strlen(inside[i]));
		if (*end)
			end++;
		if (!ours)
			to = mempcpy(to, at, end - at);
		at = end;
	}
	if (!kept)
		return;
	*to = '\0';
	setenv(name, kept, 1);
	free(kept);
}

/* ---- running where it is told ---- */

static int connect_to(const char *folder)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s/socket", folder);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		fail(0, "ehctl has ended, so nothing more starts");
	return fd;
}

static int ask(int fd, const struct line *l)
{
	static char message[BUILD_MESSAGE_MOST];
	char *where = getcwd(NULL, 0);
	int n = where ? snprintf(message, sizeof(message), "%c%s%c%s%c%s%c%s", BUILD_ASKS, l->level,
				 '\0', where, '\0', l->target, '\0', l->text)
		      : -1;

	free(where);
	if (n < 0 || n >= (int)sizeof(message) || send(fd, message, n + 1, MSG_NOSIGNAL) != n + 1)
		return fail(EXIT_REFUSED, "a command of %d bytes: %s", n, strerror(errno));
	return 0;
}

struct place {
	struct cluster_host host;
	const char *view;
	char text[512];
};

/* One answer: a word of enum build_word, 0 if there is nobody to answer. */
static int hear(int fd, struct place *p)
{
	ssize_t n = recv(fd, p->text, sizeof(p->text) - 1, 0);

	if (n <= 0)
		return 0;
	p->text[n] = '\0';
	if (*p->text != BUILD_GO)
		return *p->text;
	p->host.self = p->text[1] == '1';
	p->host.name = p->text + 2;
	p->view = p->host.name + strlen(p->host.name) + 1;
	if (p->view > p->text + n || !*p->view)
		p->view = NULL;
	return BUILD_GO;
}

/* Signals of make, such as after ^C, are for the command. */
static int wait_for(pid_t pid, int signals)
{
	struct signalfd_siginfo info;
	int status;

	for (;;) {
		pid_t ended = waitpid(pid, &status, WNOHANG);

		if (ended == pid)
			return status;
		if (ended < 0 && errno != EINTR)
			return 128 + SIGKILL;
		if (read(signals, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGCHLD)
			kill(-pid, (int)info.ssi_signo);
	}
}

static int run_there(int fd, const struct line *l, const struct place *p, int signals)
{
	struct {
		char word;
		pid_t pid;
	} __attribute__((packed)) started = { BUILD_STARTED, 0 };
	struct {
		char word;
		struct build_status s;
	} __attribute__((packed)) ended = { BUILD_STATUS, { 0 } };
	pid_t pid;

	ended.s.start = progress_now();
	pid = fork();
	if (pid < 0)
		return fail(EXIT_REFUSED, "cannot start a command: %s", strerror(errno));
	if (!pid) {
		setsid();
		remote_default_signals();
		_exit(remote_become(&p->host, p->view, l->words));
	}
	started.pid = pid;
	send(fd, &started, sizeof(started), MSG_NOSIGNAL);
	ended.s.status = wait_for(pid, signals);
	ended.s.finish = progress_now();
	send(fd, &ended, sizeof(ended), MSG_NOSIGNAL);
	return ended.s.status;
}

static int exit_as(int status)
{
	if (WIFSIGNALED(status)) {
		remote_default_signals();
		prctl(PR_SET_DUMPABLE, 0);
		raise(WTERMSIG(status));
	}
	return remote_code(status);
}

static int run_by_plan(int fd, struct line *l)
{
	const char *lock = getenv(BUILD_LOCK);
	int status = -1, word, signals = -1;
	struct place p = { 0 };

	while ((word = hear(fd, &p)) == BUILD_GO) {
		if (signals < 0) {
			/* the lock is kept by make, and by what stands for a command, not by the command */
			if (lock)
				fcntl((int)strtol(lock, NULL, 10), F_SETFD, FD_CLOEXEC);
			clean_flags("MAKEFLAGS");
			clean_flags("MFLAGS");
			restore_shell(false);
			forget_environment();
			signals = remote_signals(0);
			if (signals < 0)
				return EXIT_REFUSED;
		}
		status = run_there(fd, l, &p, signals);
	}
	if (word == BUILD_HERE)
		return run_here(l);
	/* ehctl was killed: what ran has its own end */
	return status < 0 ? EXIT_REFUSED : exit_as(status);
}

/* As BUILD_TARGET has it. With .ONESHELL make leaves the quotes of its shell's flags in the words. */
static void decode(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		bool quote = !strncmp(at, "%27", 3), percent = !strncmp(at, "%25", 3);

		if (*at == '\'')
			continue;
		*to++ = quote ? '\'' : *at;
		at += quote || percent ? 2 : 0;
	}
	*to = '\0';
}

/* --line LEVEL TARGET -c COMMAND */
int build_line_main(int argc, char **argv)
{
	const char *folder = getenv(BUILD_FOLDER);
	static struct line l;
	int fd, code;

	command_name = "dag";
	if (argc < 4)
		return fail(EXIT_USAGE, "--line is for `ehctl dag --make` and `--ninja` only");
	l.level = argv[1];
	l.target = argv[2];
	l.text = argv[argc - 1];
	decode(l.level);
	decode(l.target);
	code = fill_words(&l);
	if (code)
		return code;
	if (!strcmp(argv[0], "--dry-line"))
		return dry(&l);
	/* a make on another node, or one that outlived ehctl's directory, has nobody to ask */
	if (!folder || !is_recipe(&l))
		return run_here(&l);
	fd = connect_to(folder);
	if (fd < 0)
		return EXIT_REFUSED;
	code = ask(fd, &l);
	if (!code)
		code = run_by_plan(fd, &l);
	close(fd);
	return code;
}
