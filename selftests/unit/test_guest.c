// SPDX-License-Identifier: GPL-2.0-or-later
/* The executor's end of a job: starts, output, signals, stops, ends. Programs really run. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "guest_home.h"

static void run_all(struct home *h, uint32_t flags, const char *script)
{
	home_run(h, flags, script);
	home_until(h, home_has(h, "exit"));
	assert_int_equal(home_end(h), 0);
}

static void test_status(void **state)
{
	static const struct {
		const char *script;
		unsigned int status;
	} cases[] = { { "exit 0", 0 },
		      { "exit 1", 0x100 },
		      { "exit 255", 0xff00 },
		      { "kill -TERM $$", SIGTERM },
		      { "kill -KILL $$", SIGKILL },
		      { "kill -34 $$", 34 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct home *h = home_new();

		run_all(h, PIPES, cases[i].script);
		assert_string_equal(h->events, "ready started exit");
		assert_int_equal(h->use.status, cases[i].status);
		assert_true(h->use.maxrss_kib > 100);
		assert_int_equal(h->notes[NOTE_STARTED], 1);
		assert_int_equal(h->notes[NOTE_ENDED], 1);
		home_free(h);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *path, *cwd, *text;
		int error;
	} cases[] = {
		{ "/nonexistent", "/", "cannot execute the program: ", ENOENT },
		{ "/etc/passwd", "/", "cannot execute the program: ", EACCES },
		/* Not that of an exec. */
		{ "/bin/true", "/nonexistent", "cannot enter its working directory: ", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *argv[] = { cases[i].path, NULL };
		struct job_spec spec = home_spec(PIPES, argv);
		struct home *h = home_new();

		spec.cwd = cases[i].cwd;
		home_run_spec(h, &spec);
		assert_int_equal(home_end(h), 0);
		assert_true(home_has(h, "refused"));
		assert_false(home_has(h, "started"));
		/* A directory that is not there, or does not answer, is found before home says GO. */
		assert_int_equal(!!home_has(h, "ready"), cases[i].error != 0);
		assert_int_equal(h->error, cases[i].error);
		assert_memory_equal(h->refused, cases[i].text, strlen(cases[i].text));
		home_free(h);
	}
}

/* Nothing runs before JOB_GO, and nothing does if home goes. */
static void test_prepared(void **state)
{
	struct home *h = home_new();
	int status;

	h->prepare_only = true;
	home_run(h, PIPES, "echo ran");
	home_until(h, home_has(h, "ready"));
	home_for(h, 100);
	assert_string_equal(h->events, "ready");
	home_send_frame(h, FRAME_GONE, "gone", 4);
	status = home_end(h);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_int_equal(h->ngot[1], 0);
	home_free(h);
}

/* What the program is: the part of it that this process sets. */
static void test_attributes(void **state)
{
	const char *argv[] = { "/bin/bash", "-c",
			       "umask; pwd; grep Sig[BI] /proc/self/status | cut -f2;"
			       "ls /proc/self/fd | wc -l; ps -o pgid= -p $$ | tr -d ' '; echo $$;"
			       "cut -d' ' -f7 /proc/$$/stat",
			       NULL };
	struct job_spec spec = home_spec(JOB_FD(1) | JOB_FD(2), argv);
	struct home *h = home_new();
	char text[256];

	spec.umask = 027;
	spec.cwd = "/usr";
	spec.sigmask = 1ull << (SIGUSR1 - 1) | 1ull << 33;
	spec.sigignore = 1ull << (SIGUSR2 - 1);
	home_run_spec(h, &spec);
	assert_int_equal(home_end(h), 0);
	/* 0 is closed, and ls opens the directory. */
	snprintf(text, sizeof(text),
		 "0027\n/usr\n0000000200000200\n0000000000000800\n3\n%u\n%u\n0\n", h->program,
		 h->program);
	assert_string_equal(home_got(h, 1), text);
	assert_string_equal(home_got(h, 2), "");
	home_free(h);
}

/* A limit that has no room for the files of ehguest is for the program only. */
static void test_files(void **state)
{
	const char *argv[] = { "/bin/bash", "-c", "ulimit -n", NULL };
	struct job_spec spec = home_spec(PIPES, argv);
	struct home *h = home_new();

	spec.rlimit[RLIMIT_NOFILE][0] = spec.rlimit[RLIMIT_NOFILE][1] = 5;
	home_run_spec(h, &spec);
	assert_int_equal(home_end(h), 0);
	assert_string_equal(home_got(h, 1), "5\n");
	home_free(h);
}

/* A descriptor is also what its names in /dev say. */
static void test_names(void **state)
{
	struct home *h = home_new();

	home_input(h, "input\n");
	run_all(h, PIPES, "cat /dev/stdin; echo out >/dev/stdout; echo err >/proc/self/fd/2");
	assert_string_equal(home_got(h, 1), "input\nout\n");
	assert_string_equal(home_got(h, 2), "err\n");
	home_free(h);
}

static void test_merged(void **state)
{
	struct home *h = home_new();

	run_all(h, PIPES | JOB_MERGED | JOB_NULL(0),
		"cat; for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done");
	assert_string_equal(home_got(h, 1), "o1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5\n");
	assert_int_equal(h->ngot[2], 0);
	home_free(h);
}

/* More than all windows and pipes hold; all of it comes before the exit. */
static void test_volume(void **state)
{
	struct home *h = home_new();

	run_all(h, PIPES, "head -c 2000000 /dev/zero; head -c 300000 /dev/zero >&2");
	assert_int_equal(h->ngot[1], 2000000);
	assert_int_equal(h->ngot[2], 300000);
	assert_true(h->ended[1] && h->ended[2]);
	home_free(h);
}

/* Home does not read: the exit waits for the output before it, a signal does not. */
static void test_held_up(void **state)
{
	struct home *h = home_new();

	h->keep_output = true;
	home_run(h, PIPES,
		 "trap 'exit 3' TERM; head -c 300000 /dev/zero; kill -STOP $$; "
		 "head -c 300000 /dev/zero & echo on >&2; "
		 "while :; do sleep .05; done");
	home_until(h, h->ngot[1] == JOB_WINDOW && h->stops == 1);
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGCONT, true } });
	home_until(h, h->ngot[2]);
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGTERM, false } });
	home_until(h, h->notes[NOTE_ENDED]);
	home_for(h, 100);
	assert_false(home_has(h, "exit"));
	job_end_grant(&h->end, 1, JOB_WINDOW);
	h->keep_output = false;
	assert_int_equal(home_end(h), 0);
	assert_int_equal(h->use.status, 0x300);
	assert_int_equal(h->ngot[1], 600000);
	home_free(h);
}

/* Home's reader has gone. */
static void test_sigpipe(void **state)
{
	struct home *h = home_new();

	home_run(h, PIPES, "exec yes");
	home_until(h, h->ngot[1]);
	home_say(h, (struct job_message){ .what = JOB_CLOSED, .channel = 1 });
	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->use.status, SIGPIPE);
	assert_int_equal(home_end(h), 0);
	home_free(h);
}

static void test_signals(void **state)
{
	struct home *h = home_new();

	home_run(h, PIPES,
		 "trap 'echo usr1' USR1; trap 'exit 9' TERM; sleep 1000 & echo on;"
		 "while :; do sleep .05; done");
	home_until(h, h->ngot[1] == 3);
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGUSR1, false } });
	home_until(h, !strcmp(home_got(h, 1), "on\nusr1\n"));
	/* The child, too, which has the pipes. */
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGTERM, JOB_TO_GROUP } });
	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->use.status, 0x900);
	assert_int_equal(home_end(h), 0);
	home_free(h);
}

static void test_stops(void **state)
{
	static const int stops[] = { SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };
	struct home *h = home_new();

	home_run(h, PIPES, "exec sleep 1000");
	home_until(h, home_has(h, "started"));
	for (int i = 0; i < 4; i++) {
		char word[32];

		h->events[0] = '\0';
		home_say(h,
			 (struct job_message){ .what = JOB_SIGNAL, .sent = { stops[i], i % 2 } });
		snprintf(word, sizeof(word), "stopped:%d", stops[i]);
		home_until(h, home_has(h, word));
		home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGCONT, true } });
		home_until(h, home_has(h, "continued"));
	}
	home_until(h, h->notes[NOTE_STOPPED] == 4 && h->notes[NOTE_CONTINUED] == 4);
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGKILL, false } });
	assert_int_equal(home_end(h), 0);
	assert_int_equal(h->use.status, SIGKILL);
	home_free(h);
}

/* Children that stay, with a descriptor or with none. */
static void test_children(void **state)
{
	struct home *h = home_new();

	home_run(h, PIPES, "(kill -STOP $BASHPID; echo late) & exit 5");
	home_until(h, home_has(h, "exit"));
	assert_true(h->more);
	assert_int_equal(h->use.status, 0x500);
	home_for(h, 50);
	assert_false(home_has(h, "over"));
	/* Nobody can be signalled any more, so the test continues the group itself. */
	home_until(h, (kill(-(pid_t)h->program, SIGCONT), h->ngot[1]));
	assert_int_equal(home_end(h), 0);
	assert_string_equal(home_got(h, 1), "late\n");
	assert_true(home_has(h, "exit+ over"));
	home_free(h);

	h = home_new();
	home_run(h, PIPES, "setsid bash -c 'kill -STOP $$' <&- >&- 2>&- & echo $!; exit 0");
	home_until(h, home_has(h, "exit"));
	assert_true(h->more);
	kill(atoi(home_got(h, 1)), SIGKILL);
	assert_int_equal(home_end(h), 0);
	assert_true(home_has(h, "exit+ over"));
	home_free(h);
}

/* They are told what is for their group, when the task has ended, too; and nobody else is. */
static void test_group(void **state)
{
	const struct job_message group = { .what = JOB_SIGNAL, .sent = { SIGTERM, JOB_TO_GROUP } };
	const struct job_message task = { .what = JOB_SIGNAL, .sent = { SIGTERM, JOB_TO_TASK } };
	struct home *h = home_new();

	home_run(h, PIPES,
		 "bash -c 't() { trap : TERM; echo child; exit; }; trap t TERM; echo up; "
		 "while :; do sleep .05; done' & "
		 "setsid bash -c 'trap \"echo other\" TERM; echo up; "
		 "while kill -0 $0; do sleep .05; done 2>/dev/null; sleep .2; echo end' $! & "
		 "read x; exit 5");
	home_until(h, !strcmp(home_got(h, 1), "up\nup\n"));
	home_input(h, "one\n");
	home_offer(h, 0, false);
	home_until(h, home_has(h, "exit"));
	assert_true(h->more);
	home_say(h, task);
	home_say(h, group);
	home_until(h, strstr(home_got(h, 1), "child\n"));
	home_say(h, group);
	home_until(h, strstr(home_got(h, 1), "end\n"));
	assert_int_equal(home_end(h), 0);
	assert_string_equal(home_got(h, 1), "up\nup\nchild\nend\n");
	home_free(h);
}

/* A value, and its sender. */
static void test_queued(void **state)
{
	static const char text[] =
		"import signal,sys\n"
		"signal.pthread_sigmask(signal.SIG_BLOCK, [40])\n"
		"print('up', flush=True)\n"
		"for i in range(3):\n"
		" s = signal.sigwaitinfo([40])\n"
		" print(s.si_signo, s.si_code, s.si_pid, s.si_uid, flush=True)\n";
	const char *argv[] = { "/usr/bin/python3", "-c", text, NULL };
	const struct job_spec spec = home_spec(PIPES, argv);
	struct home *h = home_new();

	home_run_spec(h, &spec);
	home_until(h, !strcmp(home_got(h, 1), "up\n"));
	for (int i = 0; i < 3; i++)
		home_say(h, (struct job_message){
				    .what = JOB_SIGNAL,
				    .sent = { 40, JOB_TO_TASK, true, 4711, 1234, 100 + i } });
	assert_int_equal(home_end(h), 0);
	assert_string_equal(home_got(h, 1), "up\n40 -1 4711 1234\n40 -1 4711 1234\n"
					    "40 -1 4711 1234\n");
	home_free(h);
}

/* Its agent must say that it knows; but not for ever. */
static void test_noted(void **state)
{
	struct home *h = home_new();

	h->attached.wait = true;
	run_all(h, PIPES, "exit 0");
	assert_string_equal(h->events, "ready started exit");
	home_free(h);

	h = home_new();
	h->attached.wait = h->never_noted = true;
	home_run(h, PIPES, "exit 0");
	home_until(h, h->notes[NOTE_ENDED]);
	home_for(h, 300);
	assert_false(home_has(h, "exit"));
	home_until(h, home_has(h, "exit"));
	assert_int_equal(home_end(h), 0);
	home_free(h);
}

/* Whether none of the processes whose numbers the program has written is left. */
static bool all_dead(const struct home *h)
{
	int pid[3];

	assert_int_equal(sscanf(home_got(h, 1), "%d %d %d", pid, pid + 1, pid + 2), 3);
	for (int i = 0; i < 3; i++) {
		char s = home_process_state(pid[i]);

		if (s && s != 'Z' && s != 'X')
			return false;
	}
	return true;
}

#define FAMILY                                                                                 \
	"sleep 1000 & a=$!; setsid bash -c 'trap \"\" TERM HUP INT; echo $$ >&3; sleep 1000' " \
	"3>$TMPDIR/guest.$$ & until read b 2>/dev/null <$TMPDIR/guest.$$; do sleep .1; done; " \
	"rm $TMPDIR/guest.$$; echo $$ $a $b; wait"

/* Home has gone for ever: nothing runs on. */
static void test_gone(void **state)
{
	struct home *h = home_new();
	int status;

	home_run(h, PIPES, FAMILY);
	home_until(h, h->ngot[1] && strchr(home_got(h, 1), '\n'));
	home_send_frame(h, FRAME_GONE, "gone", 4);
	status = home_end(h);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_true(all_dead(h));
	home_free(h);
}

/* The same without a connection for too long. */
static void test_limit(void **state)
{
	struct home *h = home_new();
	int status;

	home_run(h, PIPES, FAMILY);
	home_until(h, h->ngot[1] && strchr(home_got(h, 1), '\n'));
	h->attached.limit_ms = 300;
	home_send_frame(h, FRAME_DETACHED, NULL, 0);
	job_end_detach(&h->end, clock_ms());
	home_attach(h);
	home_send_frame(h, FRAME_DETACHED, NULL, 0);
	waitpid(h->guest, &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_true(all_dead(h));
	home_free(h);
}

/* ehguest is killed: the kernel kills the program. */
static void test_killed(void **state)
{
	struct home *h = home_new();

	home_run(h, PIPES, "exec sleep 1000");
	home_until(h, home_has(h, "started"));
	kill(h->guest, SIGKILL);
	waitpid(h->guest, NULL, 0);
	for (uint64_t until = clock_ms() + HOME_PATIENCE_MS;
	     home_process_state(h->program) == 'S';) {
		assert_true(clock_ms() < until);
		usleep(1000);
	}
	home_free(h);
}

static long guest_private_kib(const struct home *h)
{
	char name[64], line[128];
	long kib, sum = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/smaps_rollup", h->guest);
	f = fopen(name, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Anonymous: %ld", &kib) == 1)
			sum += kib;
	fclose(f);
	return sum;
}

/* There is one for each program that is away. */
static void test_memory(void **state)
{
	struct home *h = home_new();

	home_run(h, PIPES, "exec sleep 1000");
	home_until(h, home_has(h, "started"));
	home_for(h, 100);
	print_message("# private memory: %ld KiB\n", guest_private_kib(h));
	assert_true(guest_private_kib(h) <= 200);
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGKILL, false } });
	assert_int_equal(home_end(h), 0);
	home_free(h);

	h = home_new();
	home_run(h, PIPES, "head -c 1000000 /dev/zero; exec sleep 1000");
	home_until(h, h->ngot[1] == 1000000);
	home_until(h, guest_private_kib(h) <= 200);
	print_message("# after a megabyte: %ld KiB\n", guest_private_kib(h));
	home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGKILL, false } });
	assert_int_equal(home_end(h), 0);
	home_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),	 cmocka_unit_test(test_refused),
		cmocka_unit_test(test_prepared), cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_names),	 cmocka_unit_test(test_files),
		cmocka_unit_test(test_merged),	 cmocka_unit_test(test_volume),
		cmocka_unit_test(test_held_up),	 cmocka_unit_test(test_sigpipe),
		cmocka_unit_test(test_signals),	 cmocka_unit_test(test_stops),
		cmocka_unit_test(test_children), cmocka_unit_test(test_group),
		cmocka_unit_test(test_queued),	 cmocka_unit_test(test_noted),
		cmocka_unit_test(test_gone),	 cmocka_unit_test(test_limit),
		cmocka_unit_test(test_killed),	 cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
