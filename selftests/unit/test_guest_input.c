// SPDX-License-Identifier: GPL-2.0-or-later
/* Input of a program through a pipe: what it reads is taken from home, and nothing else. */
#include <signal.h>
#include <stdlib.h>

#include "guest_home.h"
#include "random.h"

#define STOP "kill -STOP $$;"

static struct home *input_new(const char *script, const char *text, bool ahead)
{
	struct home *h = home_new();

	home_input(h, text);
	h->ahead = ahead;
	home_run(h, PIPES, script);
	return h;
}

static void input_stopped(struct home *h, int stops)
{
	home_until(h, h->stops == stops);
}

static void input_continue(struct home *h)
{
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGCONT, true } });
}

static void input_end(struct home *h)
{
	home_until(h, home_has(h, "exit"));
	assert_int_equal(home_end(h), 0);
	home_free(h);
}

/* A shell reads byte by byte, so that others find the rest. */
static void test_lines(void **state)
{
	struct home *h = input_new("read a; " STOP "read b; " STOP "echo $a$b", "1\n2\n3\n", false);

	input_stopped(h, 1);
	assert_int_equal(h->at, 2);
	home_for(h, 150);
	assert_int_equal(h->at, 2);
	input_continue(h);
	input_stopped(h, 2);
	assert_int_equal(h->at, 4);
	assert_int_equal(h->read[0], 4);
	input_continue(h);
	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->at, 4);
	assert_string_equal(home_got(h, 1), "12\n");
	input_end(h);
}

static void test_count(void **state)
{
	struct home *h = input_new("exec dd bs=6 count=1", "headerBODY", false);

	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->at, 6);
	assert_int_equal(h->wants[0], 1);
	assert_string_equal(home_got(h, 1), "header");
	input_end(h);
}

/* Nobody reads, though children have the pipe and wait for something else. */
static void test_none(void **state)
{
	struct home *h = input_new(
		"mkfifo $TMPDIR/guest.$$; sleep 1000 <&0 & s=$!; exec 3<>$TMPDIR/guest.$$;"
		"rm $TMPDIR/guest.$$; exec 4<&0; read -t .3 x <&3; kill $s",
		"1\n2\n", false);

	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->at, 0);
	assert_int_equal(h->wants[0], 0);
	input_end(h);
}

/* A reader below the program, and one that waits in select(), of which not more is known. */
static void test_others(void **state)
{
	struct home *h = input_new("(true; (true; read a; echo $a); true); read b; echo $b",
				   "1\n2\n3\n", false);

	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->at, 4);
	assert_string_equal(home_got(h, 1), "1\n2\n");
	input_end(h);

	h = input_new("read -t 100 a; " STOP "read b; echo $a$b", "1\n2\n3\n", false);
	input_stopped(h, 1);
	assert_int_equal(h->read[0], 2);
	assert_true(h->at == 2 || h->at == 6);
	input_continue(h);
	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->read[0], 4);
	assert_string_equal(home_got(h, 1), "12\n");
	input_end(h);
}

/* Another process at home has taken what was offered. */
static void test_taken(void **state)
{
	struct home *h = home_new();

	home_input(h, "line\n");
	h->manual = true;
	home_run(h, PIPES, "exec head -n 1");
	home_until(h, h->wants[0] == 1);
	home_say(h, (struct job_message){ .what = JOB_NONE, .channel = 0 });
	home_for(h, 150);
	assert_int_equal(h->wants[0], 1);
	home_offer(h, 0, false);
	home_until(h, h->wants[0] == 2);
	home_answer(h);
	home_until(h, home_has(h, "exit"));
	assert_string_equal(home_got(h, 1), "line\n");
	input_end(h);
}

static void test_end(void **state)
{
	struct home *h = input_new("cat; read x; echo $?", "no newline", false);

	home_until(h, home_has(h, "exit"));
	assert_string_equal(home_got(h, 1), "no newline1\n");
	input_end(h);
}

static char *big(size_t n)
{
	char *text = malloc(n + 1);

	for (size_t i = 0; i < n; i++)
		text[i] = 'a' + random_below(26);
	text[n] = '\0';
	return text;
}

/* The program closes its input: home is told before it writes again. */
static void test_closed(void **state)
{
	char *text = big(200000);

	text[1] = '\n';
	for (int ahead = 0; ahead < 2; ahead++) {
		struct home *h = input_new("read x; exec <&-; " STOP, text, ahead);

		home_until(h, h->closed[0]);
		input_stopped(h, 1);
		assert_int_equal(h->read[0], 2);
		input_continue(h);
		input_end(h);
	}
	free(text);
}

/* Copies of input flow in a window. What was read is known exactly when it matters. */
static void test_ahead(void **state)
{
	char *text = big(1000000);
	struct home *h = input_new("cat", text, true);

	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->ngot[1], 1000000);
	assert_memory_equal(h->got[1], text, 1000000);
	assert_int_equal(h->read[0], 1000000);
	input_end(h);

	h = input_new("dd bs=1000 count=123 iflag=fullblock status=none of=/dev/null; " STOP
		      "dd bs=77 count=1 status=none",
		      text, true);
	input_stopped(h, 1);
	assert_int_equal(h->read[0], 123000);
	assert_true(h->at <= 123000 + JOB_WINDOW);
	input_continue(h);
	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->read[0], 123077);
	assert_int_equal(h->ngot[1], 77);
	assert_memory_equal(h->got[1], text + 123000, 77);
	input_end(h);
	free(text);
}

/* The same when home has sent all, and its end. */
static void test_ahead_end(void **state)
{
	char *text = big(9000);
	struct home *h = input_new("dd bs=1 count=1 status=none of=/dev/null; " STOP
				   "dd bs=1234 count=1 status=none of=/dev/null",
				   text, true);

	input_stopped(h, 1);
	assert_int_equal(h->read[0], 1);
	home_until(h, h->at == 9000);
	home_for(h, 50);
	input_continue(h);
	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->read[0], 1235);
	input_end(h);
	free(text);
}

/* The program writes into its own input: that is no input of home's. */
static void test_written(void **state)
{
	for (int ahead = 0; ahead < 2; ahead++) {
		struct home *h = input_new("read a; echo extra >/dev/stdin; " STOP
					   "read b; read c; echo $a$b$c",
					   "1\n2\n", ahead);

		input_stopped(h, 1);
		assert_in_range(h->read[0], 0, 2);
		input_continue(h);
		home_until(h, home_has(h, "exit"));
		assert_int_equal(h->read[0], 4);
		input_end(h);
	}
}

/* First asked for, then ahead. */
static void test_switch(void **state)
{
	char *text = big(300000);
	struct home *h = home_new();

	home_input(h, text);
	h->manual = true;
	home_run(h, PIPES, "exec cat");
	for (int i = 1; i <= 3; i++) {
		home_until(h, h->wants[0] == i);
		h->manual = false;
		home_answer(h);
		h->manual = true;
	}
	h->ahead = true;
	home_offer(h, 0, true);
	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->ngot[1], 300000);
	assert_memory_equal(h->got[1], text, 300000);
	assert_int_equal(h->read[0], 300000);
	input_end(h);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),	  cmocka_unit_test(test_count),
		cmocka_unit_test(test_none),	  cmocka_unit_test(test_others),
		cmocka_unit_test(test_taken),	  cmocka_unit_test(test_end),
		cmocka_unit_test(test_closed),	  cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_ahead_end), cmocka_unit_test(test_switch),
		cmocka_unit_test(test_written),
	};

	random_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
