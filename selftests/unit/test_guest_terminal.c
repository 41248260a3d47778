// SPDX-License-Identifier: GPL-2.0-or-later
/* A program with a terminal, and home's end of it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_home.h"

#define TERMINAL JOB_CHANNEL_TERMINAL
#define TTYS (PIPES | JOB_TTYS | JOB_CTTY)
#define STOP "kill -STOP $$;"

static struct home *terminal_new(uint32_t flags, const char *script)
{
	struct home *h = home_new();

	home_run(h, flags, script);
	return h;
}

static void terminal_send(struct home *h, const char *text)
{
	job_end_send(&h->end, TERMINAL, (const uint8_t *)text, strlen(text), false);
}

/* A line is typed. It is sent when somebody reads. */
static void terminal_type(struct home *h, const char *text)
{
	int before;

	home_until(h, home_has(h, "started"));
	before = h->wants[TERMINAL];
	home_offer(h, TERMINAL, false);
	home_until(h, h->wants[TERMINAL] > before);
	terminal_send(h, text);
}

static void terminal_signal(struct home *h, int sig)
{
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { sig, true } });
}

static void terminal_foreground(struct home *h, bool on)
{
	struct job_message m = { .what = JOB_FOREGROUND };

	m.foreground = on;
	home_say(h, m);
}

static void terminal_end(struct home *h, unsigned int status)
{
	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->use.status, status);
	assert_int_equal(home_end(h), 0);
	home_free(h);
}

#define shows(h, text) home_until(h, strstr(home_got(h, TERMINAL), text))

static void test_output(void **state)
{
	struct home *h =
		terminal_new(TTYS, "test -t 0 -a -t 1 -a -t 2 && stty size; printf 'a\\nb\\n';"
				   "echo tty >/dev/tty; echo err >&2; echo out >/dev/stdout");

	home_until(h, home_has(h, "exit"));
	assert_string_equal(home_got(h, TERMINAL), "25 80\r\na\r\nb\r\ntty\r\nerr\r\nout\r\n");
	assert_true(h->ended[TERMINAL]);
	terminal_end(h, 0);
}

/* More than a window, all before the exit; and children that write after it. */
static void test_volume(void **state)
{
	struct home *h = terminal_new(TTYS, "trap '' HUP; head -c 300000 /dev/zero; "
					    "(kill -STOP $BASHPID; echo late) & exit 3");
	uint8_t *at;

	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->ngot[TERMINAL], 300000);
	assert_true(h->more);
	/* It may stop itself only now. */
	home_until(h, (kill(-(pid_t)h->program, SIGCONT), h->ended[TERMINAL]));
	at = h->got[TERMINAL] + 300000;
	assert_string_equal((char *)at, "late\r\n");
	terminal_end(h, 0x300);
}

/* One read() gets one line, and a line that nobody reads stays at home. */
static void test_lines(void **state)
{
	struct home *h = terminal_new(TTYS, "read a; echo 1$a; " STOP "read b; echo 2$b");

	terminal_type(h, "one\n");
	shows(h, "1one\r\n");
	home_until(h, h->stops == 1);
	assert_int_equal(h->read[TERMINAL], 4);
	home_offer(h, TERMINAL, false);
	home_for(h, 200);
	assert_int_equal(h->wants[TERMINAL], 1);
	terminal_signal(h, SIGCONT);
	home_until(h, h->wants[TERMINAL] == 2);
	terminal_send(h, "two\n");
	shows(h, "2two\r\n");
	terminal_end(h, 0);
}

/* What was given to it and not read is known when it stops and when it ends. */
static void test_unread(void **state)
{
	struct home *h = terminal_new(TTYS, "stty -icanon min 1; read -n 2 a; " STOP
					    "read -n 1 b; echo $a$b");
	struct job_message m = { .what = JOB_TERMINAL };

	home_until(h, !(h->modes.lflag & ICANON) && h->modes.cflag);
	terminal_type(h, "abcdef");
	home_until(h, h->stops == 1);
	assert_int_equal(h->read[TERMINAL], 2);
	/* Home takes back the rest: it is not read there. */
	m.terminal.modes = h->modes;
	m.terminal.flush = true;
	home_say(h, m);
	terminal_signal(h, SIGCONT);
	terminal_type(h, "xyz");
	shows(h, "abx\r\n");
	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->read[TERMINAL], 7);
	terminal_end(h, 0);
}

/* What counts as unread changes with the mode; what was read does not become unread again. */
static void test_unread_modes(void **state)
{
	struct home *h = terminal_new(
		TTYS, "stty -icanon min 1; dd bs=2 count=1 status=none; stty icanon; " STOP
		      "stty -icanon; " STOP "dd bs=2 count=1 status=none");

	home_until(h, h->modes.cflag && !(h->modes.lflag & ICANON));
	terminal_type(h, "abcdef");
	for (int i = 1; i <= 2; i++) {
		home_until(h, h->stops == i);
		terminal_signal(h, SIGCONT);
	}
	shows(h, "abcd");
	home_until(h, home_has(h, "exit"));
	assert_true(h->read[TERMINAL] == 4 || h->read[TERMINAL] == 6);
	terminal_end(h, 0);
}

/* The program's modes are told; in raw mode input is asked for at once. */
static void test_raw(void **state)
{
	struct home *h =
		terminal_new(TTYS, "stty raw -echo; echo raw; dd bs=1 count=3 status=none; "
				   "stty sane; echo sane");

	shows(h, "raw\n");
	home_until(h, h->modes.cflag && !(h->modes.lflag & (ICANON | ECHO | ISIG)));
	terminal_type(h, "xyz");
	shows(h, "xyz");
	shows(h, "sane\r\n");
	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->modes.lflag & (ICANON | ECHO | ISIG), ICANON | ECHO | ISIG);
	assert_false(h->modes.lflag & TERMINAL_EXTPROC);
	terminal_end(h, 0);
}

/* A program that sets modes, and then writes: home has the modes before that output. */
static void test_prompt(void **state)
{
	static const char text[] = "import os, termios\n"
				   "t = termios.tcgetattr(0)\n"
				   "for i in range(2, 252):\n"
				   " os.write(1, b'x')\n"
				   " t[6][termios.VMIN] = bytes([i])\n"
				   " termios.tcsetattr(0, termios.TCSANOW, t)\n"
				   " os.write(1, b'y')\n";
	const char *argv[] = { "/usr/bin/python3", "-c", text, NULL };
	const struct job_spec spec = home_spec(TTYS, argv);

	for (int round = 0; round < 8; round++) {
		struct home *h = home_new();

		h->counts = true;
		home_run_spec(h, &spec);
		home_until(h, home_has(h, "exit"));
		assert_int_equal(h->ys, 250);
		assert_int_equal(h->early, 0);
		terminal_end(h, 0);
	}
}

static void test_end_of_file(void **state)
{
	struct home *h = terminal_new(TTYS, "cat; echo over");

	terminal_type(h, "line\n");
	shows(h, "line\r\n");
	terminal_type(h, "");
	shows(h, "over\r\n");
	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->read[TERMINAL], 6);
	terminal_end(h, 0);
}

/* ^C and ^Z at home are signals for the foreground group here. */
static void test_signals(void **state)
{
	struct home *h = terminal_new(TTYS, "trap 'echo int; exit 7' INT; echo on; "
					    "while :; do sleep .05; done");

	shows(h, "on\r\n");
	terminal_signal(h, SIGTSTP);
	home_until(h, h->stops == 1);
	assert_true(home_has(h, "stopped:20"));
	terminal_signal(h, SIGCONT);
	home_until(h, home_has(h, "continued"));
	terminal_signal(h, SIGINT);
	shows(h, "int\r\n");
	terminal_end(h, 0x700);

	/* A job of a shell has a group of its own. */
	h = terminal_new(TTYS, "set -m; bash -c 'trap \"exit 8\" INT; echo on; "
			       "while :; do sleep .05; done'; echo $?; exit 9");
	shows(h, "on\r\n");
	terminal_signal(h, SIGINT);
	shows(h, "8\r\n");
	terminal_end(h, 0x900);
}

/* In the background it may not read. */
static void test_background(void **state)
{
	struct home *h =
		terminal_new(TTYS | JOB_BACKGROUND, "read a; echo $a; " STOP "read b; echo $b");

	home_until(h, h->stops == 1);
	assert_true(home_has(h, "stopped:21"));
	terminal_foreground(h, true);
	terminal_signal(h, SIGCONT);
	terminal_type(h, "one\n");
	shows(h, "one\r\n");
	home_until(h, h->stops == 2);
	terminal_foreground(h, false);
	terminal_signal(h, SIGCONT);
	home_until(h, h->stops == 3);
	terminal_foreground(h, true);
	terminal_signal(h, SIGCONT);
	terminal_type(h, "two\n");
	shows(h, "two\r\n");
	terminal_end(h, 0);
}

static void test_size(void **state)
{
	struct home *h = terminal_new(TTYS, "trap 'stty size; exit 6' WINCH; echo on; "
					    "while :; do sleep .05; done");
	struct job_message m = { .what = JOB_TERMINAL };

	shows(h, "on\r\n");
	m.terminal.modes = (struct terminal){ .iflag = ICRNL,
					      .oflag = OPOST | ONLCR,
					      .cflag = CS8 | CREAD,
					      .lflag = ICANON | ISIG,
					      .rows = 40,
					      .columns = 100 };
	home_say(h, m);
	shows(h, "40 100\r\n");
	terminal_end(h, 0x600);
}

/* A line editor ends a line and sets modes: home has these before it shows the end. */
static void test_entered(void **state)
{
	static const char text[] = "import os, termios\n"
				   "line = termios.tcgetattr(0)\n"
				   "raw = termios.tcgetattr(0)\n"
				   "raw[3] &= ~(termios.ICANON | termios.ECHO)\n"
				   "termios.tcsetattr(0, termios.TCSANOW, raw)\n"
				   "os.write(1, b'go')\n"
				   "for i in range(10):\n"
				   " os.read(0, 1)\n"
				   " os.write(1, b'<%d>\\r\\n' % i)\n"
				   " termios.tcsetattr(0, termios.TCSANOW, line)\n"
				   " os.read(0, 1)\n"
				   " termios.tcsetattr(0, termios.TCSANOW, raw)\n"
				   " os.write(1, b'(%d)' % i)\n";
	const char *argv[] = { "/usr/bin/python3", "-c", text, NULL };
	const struct job_spec spec = home_spec(TTYS, argv);
	struct home *h = home_new();
	int good = 0;

	home_run_spec(h, &spec);
	shows(h, "go");
	for (int i = 0; i < 10; i++) {
		char end[16], next[16];

		snprintf(end, sizeof(end), "<%d>", i);
		snprintf(next, sizeof(next), "(%d)", i);
		home_until(h, !(h->modes.lflag & ICANON));
		terminal_type(h, "\r");
		shows(h, end);
		good += (h->modes.lflag & ICANON) != 0;
		terminal_type(h, "\n");
		shows(h, next);
	}
	print_message("# %d of 10\n", good);
	/* It may have been held up between the two. */
	assert_true(good > 6);
	terminal_end(h, 0);
}

/* A terminal that only output, or nothing, goes to is read, too. */
static void test_dev_tty(void **state)
{
	static const uint32_t flags[] = { JOB_TTY(1), JOB_TTY(2), 0, JOB_TTY(1) | JOB_NULL(0),
					  JOB_NULL(0) | JOB_NULL(1) | JOB_NULL(2) };

	for (int i = 0; i < 5; i++) {
		struct home *h = home_new();

		if (i < 3)
			home_input(h, "input\n");
		home_run(h, PIPES | JOB_CTTY | flags[i],
			 "read x </dev/tty; read y; echo $x $y >/dev/tty");
		home_until(h, home_has(h, "started"));
		home_for(h, 100);
		assert_int_equal(h->at, 0);
		terminal_type(h, "typed\n");
		shows(h, i < 3 ? "typed input\r\n" : "typed\r\n");
		if (i < 3)
			assert_int_equal(h->at, 6);
		terminal_end(h, 0);
	}
}

/* A program that waits for its pipe does not read the terminal. */
static void test_pipe_is_no_terminal(void **state)
{
	struct home *h = terminal_new(PIPES | JOB_CTTY | JOB_TTY(1), "read x; echo $x");

	home_until(h, home_has(h, "started"));
	home_offer(h, TERMINAL, false);
	home_for(h, 300);
	assert_int_equal(h->wants[TERMINAL], 0);
	home_input(h, "pipe\n");
	home_offer(h, 0, false);
	shows(h, "pipe\r\n");
	terminal_end(h, 0);
}

/* The terminal at home was hung up. */
static void test_hangup(void **state)
{
	struct home *h =
		terminal_new(TTYS, "trap '' HUP; exec 2>/dev/null; echo on; read x; exit 5");

	shows(h, "on\r\n");
	home_say(h, (struct job_message){ .what = JOB_CLOSED, .channel = TERMINAL });
	terminal_end(h, 0x500);
}

/* Home has gone: the shell's jobs, too, are killed. */
static void test_gone(void **state)
{
	struct home *h = terminal_new(TTYS, "set -m; sleep 1000 & bash -c 'echo $$; read x'");
	char name[32];
	int status;

	shows(h, "\n");
	snprintf(name, sizeof(name), "/proc/%d/stat", atoi(home_got(h, TERMINAL)));
	assert_int_equal(access(name, F_OK), 0);
	home_send_frame(h, FRAME_GONE, "gone", 4);
	status = home_end(h);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_int_not_equal(access(name, F_OK), 0);
	home_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output),	     cmocka_unit_test(test_volume),
		cmocka_unit_test(test_lines),	     cmocka_unit_test(test_unread),
		cmocka_unit_test(test_unread_modes), cmocka_unit_test(test_raw),
		cmocka_unit_test(test_entered),	     cmocka_unit_test(test_prompt),
		cmocka_unit_test(test_end_of_file),  cmocka_unit_test(test_signals),
		cmocka_unit_test(test_background),   cmocka_unit_test(test_size),
		cmocka_unit_test(test_dev_tty),	     cmocka_unit_test(test_pipe_is_no_terminal),
		cmocka_unit_test(test_hangup),	     cmocka_unit_test(test_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
