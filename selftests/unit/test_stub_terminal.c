// SPDX-License-Identifier: GPL-2.0-or-later
/* build/bin/ehstub on a terminal, as a job of a shell: typed input, modes, foreground, stops, hang-up. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "stub_home.h"

#define T JOB_CHANNEL_TERMINAL

/* The shell: starts the stub in a group of its own, and says what becomes of it. */
struct shell {
	struct stub_home *h;
	pid_t pid;
	int master, slave, control;
};

static void shell_serve(struct stub_home *h, int control)
{
	struct pollfd p = { .fd = control, .events = POLLIN };
	int status;
	char what;

	for (;;) {
		if (poll(&p, 1, 20) > 0) {
			if (read(control, &what, 1) != 1)
				_exit(0);
			tcsetpgrp(h->tty, what == 'f' ? h->stub : getpgrp());
			if (write(control, &what, 1) != 1)
				_exit(1);
		}
		if (waitpid(h->stub, &status, WNOHANG | WUNTRACED) > 0 &&
		    write(h->shell[1], &status, sizeof(status)) != sizeof(status))
			_exit(1);
	}
}

static void shell_main(struct stub_home *h, const char *option, int control)
{
	char *argv[] = { (char *)"ehstub",
			 (char *)(option ? option : "7"),
			 (char *)(option ? "@auto" : "7"),
			 (char *)"/bin/sh",
			 (char *)"/bin/sh",
			 (char *)"-c",
			 (char *)"exit 3",
			 NULL };

	if (!option)
		memmove(argv + 1, argv + 2, 6 * sizeof(*argv));
	setsid();
	ioctl(h->tty, TIOCSCTTY, 0);
	signal(SIGTTOU, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	h->stub = fork();
	if (!h->stub) {
		setpgid(0, 0);
		tcsetpgrp(h->tty, getpid());
		signal(SIGTTOU, SIG_DFL);
		signal(SIGHUP, SIG_DFL);
		stub_child(h, argv);
	}
	if (write(h->shell[1], &h->stub, sizeof(h->stub)) == sizeof(h->stub))
		shell_serve(h, control);
	_exit(1);
}

/* `ttys`: bit n, descriptor n is the terminal. */
static struct shell shell_open(unsigned int ttys, const int others[3], const char *option)
{
	struct shell sh = { .h = stub_open() };
	struct stub_home *h = sh.h;
	struct winsize size = { 24, 80, 0, 0 };
	struct termios modes;
	int control[2];

	sh.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	assert_return_code(sh.master, errno);
	assert_return_code(unlockpt(sh.master), errno);
	sh.slave = open(ptsname(sh.master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_return_code(sh.slave, errno);
	assert_return_code(tcgetattr(sh.slave, &modes), errno);
	modes.c_lflag &= ~ECHO;
	tcsetattr(sh.slave, TCSANOW, &modes);
	ioctl(sh.slave, TIOCSWINSZ, &size);
	h->tty = sh.slave;
	for (int i = 0; i < 3; i++)
		h->fds[i] = ttys >> i & 1 ? sh.slave : others[i];
	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control), errno);
	stub_pipe(h->shell);
	sh.pid = fork();
	assert_return_code(sh.pid, errno);
	if (!sh.pid) {
		close(control[0]);
		close(sh.master);
		shell_main(h, option, control[1]);
	}
	close(control[1]);
	sh.control = control[0];
	for (int i = 0; i < 3; i++)
		if (others && others[i] >= 0)
			close(others[i]);
	assert_int_equal(read(h->shell[0], &h->stub, sizeof(h->stub)), sizeof(h->stub));
	fcntl(h->shell[0], F_SETFL, O_NONBLOCK);
	stub_begin(h);
	return sh;
}

static void shell_close(struct shell *sh)
{
	kill(sh->pid, SIGKILL);
	waitpid(sh->pid, NULL, 0);
	close(sh->control);
	close(sh->master);
	if (sh->slave >= 0)
		close(sh->slave);
	if (!sh->h->ended)
		kill(sh->h->stub, SIGKILL);
	sh->h->ended = true;
	stub_close(sh->h);
}

static void shell_foreground(struct shell *sh, bool stub)
{
	char what = stub ? 'f' : 'b';

	assert_int_equal(write(sh->control, &what, 1), 1);
	UNTIL(sh->h, stub_poll(sh->control, POLLIN));
	assert_int_equal(read(sh->control, &what, 1), 1);
}

static void type(struct shell *sh, const char *text)
{
	assert_int_equal(write(sh->master, text, strlen(text)), strlen(text));
}

/* What can be read from the terminal without waiting. */
static const char *queue(struct shell *sh)
{
	static char text[4096];
	int fd = open(ptsname(sh->master), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	close(fd);
	return text;
}

static bool may_give_back(void)
{
	FILE *f = fopen("/proc/sys/dev/tty/legacy_tiocsti", "r");
	int on = 1;

	if (f && fscanf(f, "%d", &on) != 1)
		on = 1;
	if (f)
		fclose(f);
	return on || !geteuid();
}

static void end(struct shell *sh, int status)
{
	stub_exit(sh->h, status, false);
	UNTIL(sh->h, sh->h->ended);
	assert_int_equal(sh->h->status, status);
}

/* ---- input ---- */

static const int nothing[3] = { -1, -1, -1 };

static void test_typed(void **state)
{
	struct shell sh = shell_open(7, nothing, NULL);
	struct stub_home *h = sh.h;

	assert_int_equal(h->flags & (JOB_TTYS | JOB_CTTY), JOB_TTYS | JOB_CTTY);
	assert_false(h->flags & JOB_BACKGROUND);
	assert_int_equal(h->first.rows, 24);
	type(&sh, "one\ntwo\n");
	UNTIL(h, h->offers[T] == 1);
	assert_int_equal(h->length, 0);
	job_end_grant(&h->far, T, 4096);
	UNTIL(h, h->typed == 1);
	/* One read of a line. */
	assert_int_equal(h->length, 4);
	assert_memory_equal(h->data, "one\n", 4);
	job_end_read(&h->far, T, 4);
	UNTIL(h, h->offers[T] == 2);
	end(&sh, 0);
	assert_string_equal(queue(&sh), "two\n");
	shell_close(&sh);
}

static void test_typed_end(void **state)
{
	struct shell sh = shell_open(7, nothing, NULL);
	struct stub_home *h = sh.h;

	type(&sh, "\004");
	UNTIL(h, h->offers[T] == 1);
	job_end_grant(&h->far, T, 4096);
	UNTIL(h, h->typed == 1);
	assert_int_equal(h->length, 0);
	assert_int_equal(h->far.channels[T].got, 1);
	job_end_read(&h->far, T, 1);
	end(&sh, 0);
	shell_close(&sh);
}

/* Its input is not a terminal; it may read /dev/tty all the same. */
static void test_typed_beside(void **state)
{
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct shell sh = shell_open(6, (int[]){ in, -1, -1 }, NULL);
	struct stub_home *h = sh.h;

	type(&sh, "secret\nrest\n");
	UNTIL(h, h->offers[T] == 1);
	job_end_grant(&h->far, T, 4096);
	UNTIL(h, h->typed == 1);
	assert_memory_equal(h->data, "secret\n", 7);
	job_end_read(&h->far, T, 7);
	end(&sh, 0);
	assert_string_equal(queue(&sh), "rest\n");
	shell_close(&sh);
}

/* None of its descriptors is the terminal. */
static void test_typed_beside_all(void **state)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct shell sh = shell_open(0, (int[]){ null, dup(null), dup(null) }, NULL);
	struct stub_home *h = sh.h;

	assert_int_equal(h->flags & (JOB_TTYS | JOB_CTTY), JOB_CTTY);
	assert_int_equal(h->first.columns, 80);
	type(&sh, "secret\nrest\n");
	UNTIL(h, h->offers[T] == 1);
	job_end_grant(&h->far, T, 4096);
	UNTIL(h, h->typed == 1);
	assert_memory_equal(h->data, "secret\n", 7);
	job_end_read(&h->far, T, 7);
	type(&sh, "\003");
	UNTIL(h, h->signals[SIGINT] == 1);
	assert_int_equal(h->sent.sent.reach, JOB_TO_FOREGROUND);
	end(&sh, 0);
	assert_string_equal(queue(&sh), "");
	shell_close(&sh);
}

static void test_typed_faster(void **state)
{
	struct shell sh = shell_open(7, nothing, NULL);
	struct stub_home *h = sh.h;

	type(&sh, "one\n");
	UNTIL(h, h->offers[T] == 1);
	assert_string_equal(queue(&sh), "one\n");
	job_end_grant(&h->far, T, 4096);
	UNTIL(h, h->nones[T] == 1);
	type(&sh, "two\n");
	UNTIL(h, h->offers[T] == 2);
	end(&sh, 0);
	shell_close(&sh);
}

static void test_give_back(void **state)
{
	struct shell sh = shell_open(7, nothing, NULL);
	struct stub_home *h = sh.h;

	type(&sh, "first line\nsecond\n");
	UNTIL(h, h->offers[T] == 1);
	job_end_grant(&h->far, T, 4096);
	UNTIL(h, h->typed == 1);
	job_end_read(&h->far, T, 6);
	end(&sh, 0);
	if (may_give_back())
		assert_string_equal(queue(&sh), "line\n");
	assert_string_equal(queue(&sh), "second\n");
	shell_close(&sh);
}

/* ---- output ---- */

static void test_shown(void **state)
{
	struct shell sh = shell_open(7, nothing, NULL);
	struct stub_home *h = sh.h;
	struct job_message m = { .what = JOB_TERMINAL, .channel = T };
	struct termios modes;

	/* The terminal here turns LF into CR LF, once. */
	stub_print(h, T, "a\r\nb\r\r\nc\n", 9);
	UNTIL(h, stub_poll(sh.master, POLLIN));
	assert_string_equal(stub_content(sh.master), "a\r\nb\r\r\nc\r\n");
	m.terminal.modes = h->first;
	m.terminal.modes.oflag &= ~OPOST;
	m.terminal.modes.lflag &= ~ICANON;
	stub_say(h, &m);
	stub_print(h, T, "d\r\ne\n", 5);
	UNTIL(h, stub_poll(sh.master, POLLIN));
	assert_string_equal(stub_content(sh.master), "d\r\ne\n");
	assert_return_code(tcgetattr(sh.slave, &modes), errno);
	assert_false(modes.c_lflag & ICANON);
	/* Killed: as before. Otherwise they stay. */
	end(&sh, SIGTERM);
	assert_return_code(tcgetattr(sh.slave, &modes), errno);
	assert_true(modes.c_lflag & ICANON && modes.c_oflag & OPOST);
	shell_close(&sh);
}

/* The device is full: new modes are set between the output before them and the output behind them. */
static void test_modes_in_order(void **state)
{
	struct shell sh = shell_open(7, nothing, NULL);
	struct stub_home *h = sh.h;
	struct job_message m = { .what = JOB_TERMINAL, .channel = T };
	static char first[100000], got[2 * sizeof(first) + 8];
	size_t n = 0;

	memset(first, '\n', sizeof(first));
	stub_print(h, T, first, sizeof(first));
	m.terminal.modes = h->first;
	m.terminal.modes.oflag &= ~OPOST;
	stub_say(h, &m);
	stub_print(h, T, "\n\nEND", 5);
	while (n < 3 || memcmp(got + n - 3, "END", 3)) {
		UNTIL(h, stub_poll(sh.master, POLLIN));
		n += strlen(strcpy(got + n, stub_content(sh.master)));
	}
	assert_int_equal(n, 2 * sizeof(first) + 5);
	end(&sh, 0);
	shell_close(&sh);
}

static void test_modes_stay(void **state)
{
	struct shell sh = shell_open(7, nothing, NULL);
	struct job_message m = { .what = JOB_TERMINAL, .channel = T };
	struct termios modes;

	m.terminal.modes = sh.h->first;
	m.terminal.modes.lflag |= ECHO;
	stub_say(sh.h, &m);
	end(&sh, 0);
	assert_return_code(tcgetattr(sh.slave, &modes), errno);
	assert_true(modes.c_lflag & ECHO);
	shell_close(&sh);
}

static void test_modes_of_a_loss(void **state)
{
	struct shell sh = shell_open(7, nothing, NULL);
	struct job_message m = { .what = JOB_TERMINAL, .channel = T };
	struct stub_home *h = sh.h;
	struct termios modes;

	m.terminal.modes = h->first;
	m.terminal.modes.lflag &= ~ICANON;
	stub_say(h, &m);
	UNTIL(h, !tcgetattr(sh.slave, &modes) && !(modes.c_lflag & ICANON));
	stub_frame(h, FRAME_GONE, "", 0);
	UNTIL(h, h->ended);
	assert_int_equal(h->status, SIGKILL);
	assert_return_code(tcgetattr(sh.slave, &modes), errno);
	assert_true(modes.c_lflag & ICANON);
	assert_non_null(strstr(stub_content(sh.master), "it is reported as killed\r\n"));
	shell_close(&sh);
}

/* ---- job control ---- */

static void test_foreground(void **state)
{
	struct shell sh = shell_open(7, nothing, NULL);
	struct job_message m = { .what = JOB_TERMINAL, .channel = T };
	struct stub_home *h = sh.h;
	struct winsize size = { 30, 100, 0, 0 };
	struct termios modes;
	unsigned int told;

	shell_foreground(&sh, false);
	type(&sh, "for the shell\n");
	UNTIL(h, h->foreground == 0);
	/* What the task sets in the background waits, and does not stop the stub. */
	m.terminal.modes = h->first;
	m.terminal.modes.lflag |= ECHO;
	stub_say(h, &m);
	job_end_grant(&h->far, T, 4096);
	kill(h->stub, SIGUSR1);
	UNTIL(h, h->signals[SIGUSR1] == 1);
	assert_int_equal(h->length, 0);
	assert_return_code(tcgetattr(sh.slave, &modes), errno);
	assert_false(modes.c_lflag & ECHO);
	assert_string_equal(queue(&sh), "for the shell\n");
	shell_foreground(&sh, true);
	UNTIL(h, h->foreground == 1);
	UNTIL(h, !tcgetattr(sh.slave, &modes) && modes.c_lflag & ECHO);
	told = h->terminals;
	assert_return_code(ioctl(sh.master, TIOCSWINSZ, &size), errno);
	UNTIL(h, h->terminals > told && h->modes.rows == 30);
	assert_int_equal(h->signals[SIGWINCH], 0);
	type(&sh, "\003");
	UNTIL(h, h->signals[SIGINT] == 1);
	assert_false(h->stopped);
	end(&sh, SIGINT);
	shell_close(&sh);
}

/* Stopped with a line that it has not read: the shell gets it. */
static void test_stop(void **state)
{
	const struct job_message stopped = { .what = JOB_STOPPED, .signal = SIGTSTP };
	struct shell sh = shell_open(7, nothing, NULL);
	struct stub_home *h = sh.h;

	type(&sh, "line\n");
	UNTIL(h, h->offers[T] == 1);
	job_end_grant(&h->far, T, 4096);
	UNTIL(h, h->typed == 1);
	stub_say(h, &stopped);
	UNTIL(h, h->stopped);
	assert_int_equal(WSTOPSIG(h->status), SIGTSTP);
	if (may_give_back()) {
		UNTIL(h, h->flush);
		assert_string_equal(queue(&sh), "line\n");
	}
	kill(h->stub, SIGCONT);
	UNTIL(h, h->signals[SIGCONT] == 1);
	end(&sh, 0);
	shell_close(&sh);
}

static void test_hangup(void **state)
{
	struct shell sh = shell_open(7, nothing, NULL);
	struct stub_home *h = sh.h;

	close(sh.slave);
	sh.slave = -1;
	close(sh.master);
	UNTIL(h, h->closed[T] == 1 && h->ends[T] == 1);
	sh.master = open("/dev/null", O_RDWR | O_CLOEXEC);
	stub_exit(h, SIGHUP, false);
	UNTIL(h, h->ended);
	assert_int_equal(h->status, SIGHUP);
	shell_close(&sh);
}

/* The user holds the terminal (^S): nothing else waits. */
static void test_held(void **state)
{
	static char much[30000];
	struct shell sh = shell_open(7, nothing, NULL);
	struct stub_home *h = sh.h;

	memset(much, 'x', sizeof(much));
	type(&sh, "\023");
	stub_print(h, T, much, sizeof(much));
	kill(h->stub, SIGUSR1);
	UNTIL(h, h->signals[SIGUSR1] == 1);
	stub_exit(h, 0, false);
	UNTIL(h, job_link_settled(&h->far.link));
	assert_false(h->ended);
	kill(h->stub, SIGTERM);
	UNTIL(h, h->ended);
	shell_close(&sh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_typed),	     cmocka_unit_test(test_typed_end),
		cmocka_unit_test(test_typed_beside), cmocka_unit_test(test_typed_beside_all),
		cmocka_unit_test(test_typed_faster), cmocka_unit_test(test_give_back),
		cmocka_unit_test(test_shown),	     cmocka_unit_test(test_modes_in_order),
		cmocka_unit_test(test_modes_stay),   cmocka_unit_test(test_modes_of_a_loss),
		cmocka_unit_test(test_foreground),   cmocka_unit_test(test_stop),
		cmocka_unit_test(test_hangup),	     cmocka_unit_test(test_held),
	};

	stub_program();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
