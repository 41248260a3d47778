// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prepares what ssh's server would for a command on another node, then becomes the stub, as `ehctl exec`
 * does: that stands in for the command until it ends.
 */
#include "ehrsh.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helpers/common/companion.h"
#include "version.h"

#define MAIN_HOST_MAX 100 /* bytes of a name: the stub has room for it */
#define MAIN_ARGUMENTS 16

static const char main_usage[] =
	"usage: ehrsh [OPTION]… [USER@]HOST [CMD…]\n"
	"Runs CMD on a node of the cluster, with the command line of ssh. HOST is the host\n"
	"name, address or code of the node. The arguments are joined with blanks and given to\n"
	"your shell over there, in your home directory; without CMD it is a login shell. The\n"
	"exit status is that of CMD, or 255 if it could not be run. See ehrsh(1).\n";

/* "USER@HOST", HOST. NULL after a message. */
static const char *main_host(struct wish *wish, char *argument)
{
	char *at = strrchr(argument, '@'), *host = at ? at + 1 : argument;

	if (at) {
		*at = '\0';
		wish->user = argument;
	}
	if (*host && strlen(host) <= MAIN_HOST_MAX &&
	    strspn(host, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:[]") ==
		    strlen(host))
		return host;
	ehrsh_fail("%s: not the name, address or code of a node", host);
	return NULL;
}

static const struct passwd *main_user(const struct wish *wish)
{
	struct passwd *user = getpwuid(geteuid());

	if (!user) {
		ehrsh_fail("user %u has no entry in passwd", (unsigned int)geteuid());
		return NULL;
	}
	if (wish->user && strcmp(wish->user, user->pw_name)) {
		ehrsh_fail("user %s: commands run as the user who starts them, %s", wish->user,
			   user->pw_name);
		return NULL;
	}
	if (!user->pw_shell || !*user->pw_shell)
		user->pw_shell = (char *)"/bin/sh";
	return user;
}

/* Arguments joined with blanks, allocated; NULL: no memory. */
static char *main_join(char **words)
{
	size_t length = 1;
	char *text, *at;

	for (char **word = words; *word; word++)
		length += strlen(*word) + 1;
	at = text = malloc(length);
	if (!text)
		return NULL;
	*at = '\0';
	for (char **word = words; *word; word++) {
		if (word != words)
			*at++ = ' ';
		at = stpcpy(at, *word);
	}
	return text;
}

/* 0 to 2 are open, 0 is what was asked for, and nothing else goes along: ssh carries three streams. */
static int main_descriptors(bool null)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd < 3);
	if (fd < 0)
		return ehrsh_fail("/dev/null: %s", strerror(errno));
	if (null && dup2(fd, 0) < 0)
		return ehrsh_fail("standard input: %s", strerror(errno));
	closefrom(3);
	return 0;
}

/* Launchers block signals while they fork, and some forget that: ^C has to end the command nevertheless. */
static void main_unblock(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Whether the command gets a terminal. */
static bool main_terminal(const struct wish *wish, bool command)
{
	const bool has = isatty(0);

	if (wish->terminal < 0 || (!wish->terminal && command))
		return false;
	if (!has && wish->terminal > 0 && !wish->quiet)
		ehrsh_fail("standard input is not a terminal: the command gets none");
	return has;
}

/* As after a login. 0, or EHRSH_FAILED after a message. */
static int main_go_home(const struct wish *wish, const struct passwd *user)
{
	if (!chdir(user->pw_dir))
		return 0;
	if (!wish->quiet)
		ehrsh_fail("%s: %s; the working directory is /", user->pw_dir, strerror(errno));
	return chdir("/") ? ehrsh_fail("/: %s", strerror(errno)) : 0;
}

/* Executes the stub; `command` NULL: a login shell. Returns only on failure. */
static int main_become(const struct wish *wish, const char *host, const struct passwd *user,
		       const char *command)
{
	const char *shell = strrchr(user->pw_shell, '/');
	char stub[4096], token[MAIN_HOST_MAX + 2], name[256];
	const char *args[MAIN_ARGUMENTS];
	bool terminal;
	char **envp;
	size_t n = 0;

	shell = shell ? shell + 1 : user->pw_shell;
	if (access(user->pw_shell, X_OK))
		return ehrsh_fail("%s, the shell of %s: %s", user->pw_shell, user->pw_name,
				  strerror(errno));
	if (!companion("ehstub", stub, sizeof(stub)))
		return ehrsh_fail(
			"ehstub is installed neither next to ehrsh nor in ../libexec/ehsched");
	if (main_descriptors(wish->null))
		return EHRSH_FAILED;
	main_unblock();
	if (main_go_home(wish, user))
		return EHRSH_FAILED;
	terminal = main_terminal(wish, command);
	envp = environment_make(wish, user, terminal);
	if (!envp)
		return ehrsh_fail("out of memory");
	snprintf(token, sizeof(token), "@%s", host);
	snprintf(name, sizeof(name), "%s%s", command ? "" : "-", shell);
	args[n++] = stub;
	args[n++] = "--rsh";
	if (!terminal)
		args[n++] = "--no-terminal";
	if (wish->view) {
		args[n++] = "--view";
		args[n++] = wish->view;
	}
	args[n++] = token;
	args[n++] = user->pw_shell;
	args[n++] = name;
	if (command) {
		args[n++] = "-c";
		args[n++] = command;
	}
	args[n] = NULL;
	execve(stub, (char **)args, envp);
	return ehrsh_fail("%s: %s", stub, strerror(errno));
}

int main(int argc, char **argv)
{
	static struct wish wish;
	const struct passwd *user;
	const char *host = NULL;
	char *command;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "--version"))) {
		wish.help = argv[1][2] == 'h';
		wish.version = !wish.help;
	}
	/* ssh takes options before HOST, and behind it. */
	for (int i = 0; i < 2 && argc > 0 && !wish.help && !wish.version; i++) {
		int taken = options_take(&wish, argc, argv);

		if (taken < 0)
			return EHRSH_FAILED;
		argc -= taken;
		argv += taken;
		if (host || !argc)
			break;
		host = main_host(&wish, argv[0]);
		if (!host)
			return EHRSH_FAILED;
	}
	if (wish.version || wish.help) {
		if (wish.help)
			fputs(main_usage, stdout);
		else
			printf("ehrsh %s\n", VERSION);
		return fflush(stdout) ? ehrsh_fail("cannot write the output: %s", strerror(errno))
				      : 0;
	}
	if (!host) {
		fputs(main_usage, stderr);
		return EHRSH_FAILED;
	}
	user = main_user(&wish);
	if (!user)
		return EHRSH_FAILED;
	command = *argv ? main_join(argv) : NULL;
	if (*argv && !command)
		return ehrsh_fail("out of memory");
	main_become(&wish, host, user, command);
	free(command);
	return EHRSH_FAILED;
}
