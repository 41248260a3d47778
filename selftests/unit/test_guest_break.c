// SPDX-License-Identifier: GPL-2.0-or-later
/* The executor's end of a job when its connection breaks, at random points too. In a network namespace
 * of its own, in which this is the agent. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent_socket.h"
#include "base/clock.h"
#include "frames.h"
#include "guest_home.h"
#include "helpers/common/agent_address.h"
#include "random.h"

static int agent = -1;

static void agent_listen(void)
{
	agent = agent_socket_listen(SOCK_NONBLOCK);
	assert_true(agent >= 0);
}

static int begin(void **state)
{
	agent_listen();
	return 0;
}

/* The agent ends, in the middle of a frame perhaps. */
static void agent_ends(struct home *h)
{
	close(h->socket);
	h->socket = -1;
	h->have = h->from = h->to = 0;
	job_end_detach(&h->end, clock_ms());
}

/* Another one is there, which the guest finds, and says who it is. */
static void agent_begins(struct home *h)
{
	uint8_t payload[ATTACH_SIZE];
	struct attach a;
	uint32_t length;

	h->socket = frames_accept(agent, HOME_PATIENCE_MS, FRAME_ATTACH, payload, &length);
	assert_int_equal(attach_decode(&a, payload, length), 0);
	assert_true(a.executor);
	assert_string_equal(a.token, h->attached.token);
	assert_string_equal(a.id, h->attached.id);
	assert_string_equal(a.other, h->attached.other);
	assert_string_equal(a.command, "bash");
	assert_true(a.started_ms);
	if (h->program && !home_has(h, "exit") && a.pid)
		assert_int_equal(a.pid, h->program);
	home_attach(h);
}

/* Only the agents' connection breaks; some frames of it are lost. */
static void link_breaks(struct home *h)
{
	home_send_frame(h, FRAME_DETACHED, NULL, 0);
	job_end_detach(&h->end, clock_ms());
	for (uint64_t n = random_below(20); n; n--)
		home_step(h, random_below(2));
	home_attach(h);
}

static void breaks(struct home *h)
{
	if (random_below(3)) {
		link_breaks(h);
		return;
	}
	agent_ends(h);
	agent_begins(h);
}

/* Data both ways, and the connection breaks all the time: nothing is lost, nothing comes twice. */
static void test_bulk(void **state)
{
	const size_t n = 1000000;
	char *text = malloc(n + 1);
	int broken = 0;

	for (size_t i = 0; i < n; i++)
		text[i] = 'a' + random_below(26);
	text[n] = '\0';
	for (int round = 0; round < 3; round++) {
		struct home *h = home_new();
		uint64_t until = clock_ms() + HOME_PATIENCE_MS;

		home_input(h, text);
		h->ahead = round;
		/* Asked for each read, it is slow. */
		if (!round)
			h->ninput = 100000;
		home_run(h, PIPES, "tee /dev/stderr; exit 7");
		home_until(h, home_has(h, "started"));
		while (!home_has(h, "exit")) {
			assert_true(clock_ms() < until);
			for (uint64_t steps = 1 + random_below(10); steps; steps--)
				home_step(h, 10);
			if (!home_has(h, "exit")) {
				breaks(h);
				broken++;
			}
		}
		assert_int_equal(home_end(h), 0);
		assert_string_equal(h->events, "ready started exit");
		assert_int_equal(h->use.status, 0x700);
		for (int i = 1; i <= 2; i++) {
			assert_int_equal(h->ngot[i], h->ninput);
			assert_memory_equal(h->got[i], text, h->ninput);
		}
		assert_int_equal(h->read[0], h->ninput);
		home_free(h);
	}
	print_message("# broken %d times\n", broken);
	assert_true(broken > 20);
	free(text);
}

/* Each message of a short job may be the last before a break. */
static void test_each_step(void **state)
{
	for (int round = 0; round < 40; round++) {
		struct home *h = home_new();

		home_input(h, "input\n");
		home_run(h, PIPES, "read x; echo $x; kill -STOP $$; exit 3");
		/* Before GO home would run it itself. */
		home_until(h, home_has(h, "ready"));
		for (uint64_t steps = random_below(12); steps; steps--)
			home_step(h, 20);
		breaks(h);
		for (uint64_t steps = random_below(4); steps; steps--)
			home_step(h, 20);
		breaks(h);
		home_until(h, h->stops);
		home_say(h, (struct job_message){ .what = JOB_SIGNAL, .sent = { SIGCONT, true } });
		for (uint64_t steps = random_below(4); steps; steps--)
			home_step(h, 20);
		if (!home_has(h, "exit"))
			breaks(h);
		home_until(h, home_has(h, "exit"));
		assert_int_equal(home_end(h), 0);
		assert_string_equal(home_got(h, 1), "input\n");
		assert_int_equal(h->use.status, 0x300);
		assert_true(!strncmp(h->events, "ready started stopped:19", 24));
		home_free(h);
	}
}

/* What it wrote before it stopped comes before the news of that, or nobody would see it until it goes on. */
static void test_written_before_stop(void **state)
{
	for (int round = 0; round < 60; round++) {
		struct home *h = home_new();

		home_run(h, PIPES, "echo here; kill -STOP $$; echo on");
		home_until(h, h->stops);
		assert_int_equal(h->ngot[1], 5);
		kill(h->program, SIGCONT);
		home_until(h, home_has(h, "exit"));
		assert_int_equal(home_end(h), 0);
		assert_string_equal(home_got(h, 1), "here\non\n");
		home_free(h);
	}
}

/* It ends while there is no agent: the next one hears of it, and home. */
static void test_ends_alone(void **state)
{
	struct home *h = home_new();
	char name[32];

	home_run(h, PIPES, "echo $$; kill -STOP $$; echo alone; exit 4");
	home_until(h, h->stops);
	snprintf(name, sizeof(name), "/proc/%u", h->program);
	agent_ends(h);
	kill(h->program, SIGCONT);
	for (uint64_t until = clock_ms() + HOME_PATIENCE_MS; !access(name, F_OK); usleep(1000))
		assert_true(clock_ms() < until);
	agent_begins(h);
	home_until(h, home_has(h, "exit"));
	assert_int_equal(h->use.status, 0x400);
	assert_int_equal(h->notes[NOTE_ENDED], 1);
	assert_string_equal(strchr(home_got(h, 1), '\n'), "\nalone\n");
	assert_int_equal(home_end(h), 0);
	home_free(h);
}

/* Without an agent it goes on until a window is full, and then goes on where it was. */
static void test_window(void **state)
{
	struct home *h = home_new();
	uint8_t *got;

	home_run(h, PIPES, "read x; seq 100000; exit 1");
	home_until(h, home_has(h, "started"));
	home_input(h, "go\n");
	home_offer(h, 0, false);
	home_until(h, h->ngot[1]);
	agent_ends(h);
	/* Nobody listens, for more than some attempts. */
	close(agent);
	usleep(200000);
	agent_listen();
	agent_begins(h);
	home_until(h, home_has(h, "exit"));
	got = h->got[1];
	for (int i = 1; i <= 100000; i++) {
		char line[16];
		size_t n = snprintf(line, sizeof(line), "%d\n", i);

		assert_memory_equal(got, line, n);
		got += n;
	}
	assert_ptr_equal(got, h->got[1] + h->ngot[1]);
	assert_int_equal(home_end(h), 0);
	home_free(h);
}

/* Waits for the guest to end, alone. Returns its status. */
static int ends_by_itself(struct home *h)
{
	uint64_t until = clock_ms() + HOME_PATIENCE_MS;
	int status;

	while (waitpid(h->guest, &status, WNOHANG) != h->guest) {
		if (clock_ms() > until) {
			kill(h->guest, SIGKILL);
			fail_msg("it waits for an agent");
		}
		usleep(1000);
	}
	/* Its attempts. */
	for (int fd; (fd = accept(agent, NULL, NULL)) >= 0;)
		close(fd);
	return status;
}

/* No agent comes in time. */
static void test_limit(void **state)
{
	struct home *h = home_new();
	char name[32];
	int status;

	home_run(h, PIPES, "sleep 1000");
	home_until(h, home_has(h, "started"));
	h->attached.limit_ms = 400;
	link_breaks(h);
	snprintf(name, sizeof(name), "/proc/%u", h->program);
	agent_ends(h);
	status = ends_by_itself(h);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_int_not_equal(access(name, F_OK), 0);
	home_free(h);
}

/* Nor after a program was killed while it was stopped: that one does not stop any more. */
static void test_limit_of_stopped(void **state)
{
	struct home *h = home_new();
	char name[32];
	int status;

	home_run(h, PIPES, "kill -STOP $$");
	home_until(h, h->stops);
	h->attached.limit_ms = 400;
	link_breaks(h);
	snprintf(name, sizeof(name), "/proc/%u", h->program);
	kill(h->program, SIGKILL);
	/* Home never acknowledges its end. */
	for (uint64_t until = clock_ms() + HOME_PATIENCE_MS; !access(name, F_OK); usleep(1000))
		assert_true(clock_ms() < until);
	agent_ends(h);
	status = ends_by_itself(h);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	home_free(h);
}

/* Nor of one whose stub was stopped after its end: that one may have ended since, unheard. */
static void test_limit_of_paused(void **state)
{
	struct home *h = home_new();
	uint8_t stopped[4];
	char name[32];
	int status;

	h->attached.limit_ms = 400;
	home_run(h, PIPES, "read x");
	home_until(h, home_has(h, "started"));
	snprintf(name, sizeof(name), "/proc/%u", h->program);
	kill(h->program, SIGKILL);
	for (uint64_t until = clock_ms() + HOME_PATIENCE_MS; !access(name, F_OK); usleep(1000))
		assert_true(clock_ms() < until);
	frame_put_u32(stopped, 1);
	home_send_frame(h, FRAME_PAUSED, stopped, sizeof(stopped));
	agent_ends(h);
	status = ends_by_itself(h);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	home_free(h);
}

/* An agent that accepts nobody does not hold it up. */
static void test_stuck(void **state)
{
	struct home *h = home_new();
	struct sockaddr_un address;
	int status, waiting[16], n = 0;

	home_run(h, PIPES, "sleep 1000");
	home_until(h, home_has(h, "started"));
	h->attached.limit_ms = 400;
	link_breaks(h);
	assert_int_equal(agent_address(agent, AGENT_FOLDER, &address), 0);
	do {
		assert_true(n < 16);
		waiting[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	} while (!connect(waiting[n++], (struct sockaddr *)&address, sizeof(address)));
	agent_ends(h);
	status = ends_by_itself(h);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	while (n--)
		close(waiting[n]);
	home_free(h);
}

/* A new agent does not know the job. */
static void test_unknown(void **state)
{
	struct home *h = home_new();
	struct pollfd p = { .fd = agent, .events = POLLIN };
	int status, fd;

	home_run(h, PIPES, "sleep 1000");
	home_until(h, home_has(h, "started"));
	agent_ends(h);
	/* The first one ends again at once. */
	assert_int_equal(poll(&p, 1, HOME_PATIENCE_MS), 1);
	fd = accept4(agent, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
	agent_begins(h);
	home_send_frame(h, FRAME_GONE, "unknown", 7);
	status = home_end(h);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	home_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bulk),
		cmocka_unit_test(test_each_step),
		cmocka_unit_test(test_ends_alone),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_written_before_stop),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_limit_of_stopped),
		cmocka_unit_test(test_limit_of_paused),
		cmocka_unit_test(test_stuck),
		cmocka_unit_test(test_unknown),
	};

	random_begin();
	agent_socket_program();
	return cmocka_run_group_tests(tests, begin, NULL);
}
