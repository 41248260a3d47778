// SPDX-License-Identifier: GPL-2.0-or-later
/* Tokens of make's jobserver at the executor's end: one pipe for all processes of the program. */
#include <signal.h>
#include <string.h>

#include "guest_home.h"

#define FROM JOB_CHANNEL_FILES
#define TO (JOB_CHANNEL_FILES + 1)

static struct home *tokens_run(const char *makeflags, const char *script)
{
	static struct job_file files[] = {
		{ .kind = JOB_STREAM,
		  .flags = JOB_OPEN_READ | JOB_OPEN_TOKENS,
		  .place = "",
		  .path = "" },
		{ .kind = JOB_STREAM,
		  .flags = JOB_OPEN_WRITE | JOB_OPEN_TOKENS,
		  .place = "",
		  .path = "" },
	};
	static const struct job_descriptor descriptors[] = { { 3, FROM }, { 4, TO } };
	const char *argv[] = { "/bin/bash", "-c", script, NULL };
	const char *envp[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", makeflags, NULL };
	struct job_spec spec = home_spec(PIPES, argv);
	struct home *h = home_new();

	spec.envp = envp;
	spec.envc = 3;
	spec.nfiles = spec.ndescriptors = 2;
	spec.files = files;
	spec.descriptors = descriptors;
	home_run_spec(h, &spec);
	home_until(h, home_has(h, "started"));
	return h;
}

/* Offers tokens until one is asked for, and gives it. */
static void tokens_give(struct home *h, const char *token)
{
	home_offer(h, FROM, false);
	home_until(h, job_end_room(&h->end, FROM));
	/* never one more than there are processes that wait */
	assert_int_equal(job_end_room(&h->end, FROM), 1);
	job_end_send(&h->end, FROM, (const uint8_t *)token, 1, false);
}

/* Gives one until the program puts back `last`. Those that come back are given again, as on a busy machine. */
static void tokens_until(struct home *h, char token, char last)
{
	size_t back = strlen(home_got(h, TO));
	const char text[] = { token, '\0' };

	tokens_give(h, text);
	for (;;) {
		home_until(h, home_got(h, TO)[back]);
		if (strchr(home_got(h, TO), last))
			return;
		if (home_got(h, TO)[back++] == token)
			tokens_give(h, text);
	}
}

static void tokens_go_on(struct home *h)
{
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGCONT, true } });
}

static void tokens_end(struct home *h)
{
	assert_int_equal(home_end(h), 0);
	home_free(h);
}

/*
 * One that is put back is there at once for the next that looks, and in the end goes home. A machine may be so
 * busy that it has gone home before that: then it comes again, and the program tries again.
 */
static void test_back(void **state)
{
	struct home *h = tokens_run("MAKEFLAGS= -j2 --jobserver-auth=3,4",
				    "python3 -c \"\n"
				    "import os\n"
				    "os.read(3, 1)\n"
				    "os.set_blocking(3, False)\n"
				    "while True:\n"
				    "    os.write(4, b'a')\n"
				    "    try:\n"
				    "        os.read(3, 1)\n"
				    "        break\n"
				    "    except BlockingIOError:\n"
				    "        os.set_blocking(3, True)\n"
				    "        os.read(3, 1)\n"
				    "        os.set_blocking(3, False)\n"
				    "os.write(4, b'b')\n"
				    "\"; echo $MAKEFLAGS");

	tokens_until(h, 'a', 'b');
	assert_int_equal(home_end(h), 0);
	assert_int_equal(h->read[FROM], strlen(home_got(h, TO)));
	assert_string_equal(home_got(h, 1), "-j2 --jobserver-auth=3,4\n");
	home_free(h);
}

/* One that waits in poll() is given one, and what it does not read goes back. */
static void test_polls(void **state)
{
	struct home *h = tokens_run(
		"A=",
		"exec python3 -c 'import os, select; select.select([3], [], []); os.read(0, 1)'");

	tokens_give(h, "+");
	home_until(h, !strcmp(home_got(h, TO), "+"));
	/* nobody waits any more: what is offered is not asked for */
	home_offer(h, FROM, false);
	home_for(h, 200);
	assert_int_equal(job_end_room(&h->end, FROM), 0);
	home_say(h, (struct job_message){ .what = JOB_END, .channel = 0 });
	tokens_end(h);
}

/* The path is that of the same pipe, for a process without these descriptors, too. */
static void test_path(void **state)
{
	struct home *h = tokens_run(
		"MAKEFLAGS=n --jobserver-auth=3,4 --jobserver-auth=fifo:/proc/self/fd/3 -- X=1",
		"exec 3<&- 4>&-; p=${MAKEFLAGS##*fifo:}; p=${p% -- X=1}; [ -p \"$p\" ] || exit 1;"
		"exec 8<>\"$p\"; read -r -N 1 t <&8; printf %s $t >\"$p\"; echo ${MAKEFLAGS%%fifo*}$t");

	tokens_give(h, "b");
	assert_int_equal(home_end(h), 0);
	assert_string_equal(home_got(h, 1), "n --jobserver-auth=3,4 --jobserver-auth=b\n");
	assert_string_equal(home_got(h, TO), "b");
	home_free(h);
}

/* A program that looks without ever waiting finds one; if it does not take it, it goes back. */
static void test_looks(void **state)
{
	struct home *h = tokens_run(
		"MAKEFLAGS= -j2 --jobserver-auth=fifo:/proc/self/fd/3",
		"exec python3 -c \"\n"
		"import os, signal, time\n"
		"fd = os.open(os.environ['MAKEFLAGS'].split('fifo:')[1], os.O_RDONLY | os.O_NONBLOCK)\n"
		"os.kill(os.getpid(), signal.SIGSTOP)\n"
		"while True:\n"
		"    try:\n"
		"        os.write(4, os.read(fd, 1) + b'!')\n"
		"        break\n"
		"    except BlockingIOError:\n"
		"        time.sleep(0.01)\n\"");

	home_until(h, h->stops);
	tokens_give(h, "c");
	home_until(h, !strcmp(home_got(h, TO), "c"));
	tokens_go_on(h);
	tokens_until(h, 'd', '!');
	assert_int_equal(home_end(h), 0);
	home_free(h);
}

/* Others do not: one that has the descriptors and does not wait is given none. */
static void test_idle(void **state)
{
	struct home *h =
		tokens_run("MAKEFLAGS= -j2 --jobserver-auth=fifo:/proc/self/fd/3", "kill -STOP $$");

	home_until(h, h->stops);
	home_offer(h, FROM, false);
	home_for(h, 300);
	assert_int_equal(job_end_room(&h->end, FROM), 0);
	tokens_go_on(h);
	tokens_end(h);
}

/* What lies there at the end goes home before it is told; and what its children put there, before theirs is. */
static void test_ends(void **state)
{
	struct home *h = tokens_run(
		"A=", "exec 9<&0; printf 12 >&4; (read -r x <&9; printf 3 >&4) & exit 7");

	home_until(h, home_has(h, "exit"));
	assert_int_equal(strncmp(home_got(h, TO), "12", 2), 0);
	assert_int_equal(home_end(h), 0);
	assert_string_equal(home_got(h, TO), "123");
	home_free(h);
}

/* Home that takes none back any more: the program ends all the same. */
static void test_closed(void **state)
{
	struct home *h = tokens_run("A=", "kill -STOP $$; printf 12 >&4");

	home_until(h, h->stops);
	home_say(h, (struct job_message){ .what = JOB_CLOSED, .channel = TO });
	home_say(h, (struct job_message){ .what = JOB_END, .channel = FROM });
	tokens_go_on(h);
	tokens_end(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_back),   cmocka_unit_test(test_polls),
		cmocka_unit_test(test_path),   cmocka_unit_test(test_looks),
		cmocka_unit_test(test_idle),   cmocka_unit_test(test_ends),
		cmocka_unit_test(test_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
