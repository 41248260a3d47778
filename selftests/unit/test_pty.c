// SPDX-License-Identifier: GPL-2.0-or-later
/* What a guest's terminal sends home: its output and its modes, in order, through a real pseudo-terminal. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>
#include <cmocka.h>

#include <event2/event.h>

#include "executor/pty.h"
#include "wire/frame.h"
#include "wire/job.h"

static struct event_base *base;
static struct channel channel;
static struct launch launch;
static struct pty p;
static uint8_t buf[FRAME_HEADER + 100];

/* Done by the task between two reads of ours. */
static void (*behind_read)(void);

ssize_t read(int fd, void *to, size_t n)
{
	ssize_t got = syscall(SYS_read, fd, to, n);
	void (*now)(void) = behind_read;

	if (fd == p.master && now) {
		behind_read = NULL;
		now();
	}
	return got;
}

static int begin(void **state)
{
	const struct job_spec spec = {
		.flags = JOB_FD(1) | JOB_TTY(1),
		.uid = getuid(),
		.terminal = { .cflag = CS8 | CREAD, .lflag = ICANON, .rows = 25, .columns = 80 },
	};

	base = event_base_new();
	assert_non_null(base);
	pty_init(&p, base, &channel, &launch);
	assert_int_equal(pty_open(&p, &spec), 0);
	p.out.fd = p.master;
	return 0;
}

static int end(void **state)
{
	p.out.fd = -1;
	pty_close(&p);
	event_base_free(base);
	return 0;
}

static void task_writes(const char *text)
{
	assert_int_equal(write(p.slave, text, strlen(text)), strlen(text));
}

static void task_sets(tcflag_t oflag, tcflag_t lflag)
{
	struct termios modes;

	assert_int_equal(tcgetattr(p.slave, &modes), 0);
	modes.c_oflag = oflag;
	modes.c_lflag = lflag | TERMINAL_EXTPROC;
	assert_int_equal(tcsetattr(p.slave, TCSANOW, &modes), 0);
}

static ssize_t next(size_t most)
{
	return p.out.read(&p, buf, most);
}

static void assert_shown(size_t most, const char *text)
{
	size_t length = strlen(text);

	assert_int_equal(next(most), FRAME_HEADER + length);
	assert_int_equal(frame_get_u32(buf), FRAME_SHOWN);
	assert_int_equal(frame_get_u32(buf + 4), length);
	assert_memory_equal(buf + FRAME_HEADER, text, length);
}

static void assert_modes(tcflag_t oflag, tcflag_t lflag)
{
	struct terminal t;

	assert_int_equal(next(100), FRAME_HEADER + TERMINAL_SIZE);
	assert_int_equal(frame_get_u32(buf), FRAME_TERMINAL);
	assert_int_equal(frame_get_u32(buf + 4), TERMINAL_SIZE);
	assert_int_equal(terminal_decode(&t, buf + FRAME_HEADER, TERMINAL_SIZE), 0);
	assert_int_equal(t.oflag, oflag);
	assert_int_equal(t.lflag, lflag);
	assert_int_equal(t.rows, 25);
}

static void test_output(void **state)
{
	assert_int_equal(next(100), -EAGAIN);
	task_writes("one\ntwo");
	assert_shown(100, "one\ntwo");
	task_writes("abcdef");
	assert_shown(4, "abc"); /* a byte is kept for an LF */
	assert_shown(1, "d");
	assert_shown(100, "ef");
	task_writes("abc\r\ndef");
	assert_shown(5, "abc\r\n");
	assert_shown(100, "def");
	assert_int_equal(next(100), -EAGAIN);
}

static void test_modes(void **state)
{
	task_sets(0, 0);
	assert_modes(0, 0);
	assert_int_equal(next(100), -EAGAIN);
	/* what is known already is not told */
	task_sets(0, 0);
	task_writes("x");
	assert_shown(100, "x");
	assert_int_equal(next(100), -EAGAIN);
}

/* Two statuses that are not told, the second with its output, take one call. */
static void test_untold(void **state)
{
	task_sets(0, ICANON);
	assert_int_equal(tcflush(p.slave, TCOFLUSH), 0);
	task_writes("x");
	assert_shown(100, "x");
	assert_int_equal(next(100), -EAGAIN);
}

/* Where home would make CR LF of LF from then on, what was written before comes first. */
static void test_late(void **state)
{
	task_writes("one\n");
	task_sets(OPOST | ONLCR, ICANON);
	assert_shown(100, "one\n");
	assert_modes(OPOST | ONLCR, ICANON);
	assert_int_equal(next(100), -EAGAIN);
}

static void task_ends_canonical(void)
{
	task_sets(0, 0);
}

/* A change that comes while the LF of a CR is looked for. */
static void test_change_behind_cr(void **state)
{
	task_writes("x\r");
	behind_read = task_ends_canonical;
	assert_shown(100, "x\r");
	assert_null(behind_read);
	assert_modes(0, 0);
	assert_int_equal(next(100), -EAGAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_output, begin, end),
		cmocka_unit_test_setup_teardown(test_modes, begin, end),
		cmocka_unit_test_setup_teardown(test_untold, begin, end),
		cmocka_unit_test_setup_teardown(test_late, begin, end),
		cmocka_unit_test_setup_teardown(test_change_behind_cr, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
