// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel gives a stub a handle that everybody can read. Only the process that the placement was
 * made for gets it, with this handle, on the agent's local socket. Two agents in this process;
 * children of it play the stubs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <event2/event.h>

#include "helpers/common/agent_address.h"
#include "home/placement.h"
#include "home/record.h"
#include "net/peers.h"
#include "node/node.h"
#include "wiring.h"
#include "two_agents.h"
#include "wire/frame.h"
#include "wire/job.h"

#define COOKIE 7 /* as one of the module's */

/* A child that waits for a letter, then speaks to the agent; its answer comes as a byte. */
struct stub {
	pid_t pid;
	int go, answer;
	struct event *event;
	uint8_t got; /* enum frame_type; 0: none yet; 255: the connection closed */
};

static bool write_all(int fd, const void *data, size_t length)
{
	return send(fd, data, length, MSG_NOSIGNAL) == (ssize_t)length;
}

/* What ehstub sends, without descriptors. The child's end: reports the first frame's type. */
static uint8_t present(const char *folder, const char *handle, uid_t uid)
{
	static const char *argv[] = { "true", NULL }, *envp[] = { NULL };
	struct job_spec spec = { .token = handle,
				 .path = "/bin/true",
				 .cwd = "/",
				 .argc = 1,
				 .argv = argv,
				 .envp = envp };
	struct sockaddr_un address;
	uint8_t frame[4096];
	enum frame_type type;
	uint32_t length;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	for (int i = 0; i < JOB_RLIMITS; i++)
		spec.rlimit[i][0] = spec.rlimit[i][1] = RLIM_INFINITY;
	frame_header(frame, FRAME_JOB, job_encoded_size(&spec));
	job_encode(&spec, frame + FRAME_HEADER);
	if (fd < 0 || (uid && setuid(uid)) || agent_address(fd, folder, &address) ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    !write_all(fd, frame, FRAME_HEADER + job_encoded_size(&spec)))
		return 254;
	if (recv(fd, frame, FRAME_HEADER, MSG_WAITALL) != FRAME_HEADER ||
	    frame_parse(frame, &type, &length))
		return 255;
	return type;
}

static void on_answer(evutil_socket_t fd, short what, void *arg)
{
	struct stub *s = arg;

	if (read(fd, &s->got, 1) != 1)
		s->got = 255;
}

static void stub_new(struct stub *s, struct agent *agent, const char *handle, uid_t uid)
{
	int go[2], answer[2];
	uint8_t byte;

	*s = (struct stub){ 0 };
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(answer), 0);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (!s->pid) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		byte = present(agent->socket, handle, uid);
		_exit(write(answer[1], &byte, 1) != 1);
	}
	close(go[0]);
	close(answer[1]);
	s->go = go[1];
	s->answer = answer[0];
	s->event = event_new(agent->base, answer[0], EV_READ, on_answer, s);
	assert_non_null(s->event);
	event_add(s->event, NULL);
}

static bool has_answered(void *ctx)
{
	return ((struct stub *)ctx)->got;
}

static uint8_t stub_speak(struct stub *s, struct event_base *base)
{
	assert_int_equal(write(s->go, "", 1), 1);
	two_run_until(base, has_answered, s);
	return s->got;
}

static void stub_free(struct stub *s)
{
	close(s->go);
	close(s->answer);
	event_free(s->event);
	assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
}

static void test_claim(void **state)
{
	struct event_base *base = event_base_new();
	struct stub right, other, stranger, late;
	struct two_outcome outcome = { 0 };
	struct placement_task task = {
		.exec.cookie = COOKIE,
		.exec.uid = getuid(),
		.exec.path = "/bin/true",
		.exec.time_ms = TWO_LIMIT_S * 1000,
		.node = "0.1",
		.view = VIEW_SHARED,
	};
	struct agent agents[2];
	char token[EHS_TOKEN_MAX + 1];

	assert_non_null(base);
	for (int i = 0; i < 2; i++)
		two_start(&agents[i], base, i);
	two_run_until(base, two_agreed, agents);
	stub_new(&right, &agents[0], "7", 0);
	stub_new(&other, &agents[0], "7", 0);
	/* another user's, if this is root */
	stub_new(&stranger, &agents[0], "7", getuid() ? 0 : 65534 /* nobody */);
	task.exec.pid = right.pid;
	assert_int_equal(placement_start(&agents[0], &task, two_on_decided, &outcome), 0);
	two_run_until(base, two_was_decided, &outcome);
	assert_ptr_equal(outcome.to, peers_by_text(&agents[0], "0.1"));
	snprintf(token, sizeof(token), "%s", outcome.placement->token);

	/* what the stub's command line shows is of use to nobody else */
	assert_int_equal(stub_speak(&other, base), FRAME_REFUSED);
	assert_int_equal(stub_speak(&stranger, base), FRAME_REFUSED);
	assert_int_equal(outcome.placement->phase, PLACEMENT_RESERVED);
	/* the token is for the other agent, and claims nothing here, not even for the right one */
	stub_new(&late, &agents[0], token, 0);
	assert_int_equal(stub_speak(&late, base), FRAME_REFUSED);
	stub_free(&late);
	assert_int_equal(outcome.placement->phase, PLACEMENT_RESERVED);

	/* and the right one still gets it; its program starts on the other node */
	assert_int_equal(stub_speak(&right, base), FRAME_ATTACHED);
	assert_true(outcome.placement->phase > PLACEMENT_RESERVED);
	/* once */
	stub_new(&late, &agents[0], "7", 0);
	assert_int_equal(stub_speak(&late, base), FRAME_REFUSED);
	stub_free(&late);

	stub_free(&right);
	stub_free(&other);
	stub_free(&stranger);
	for (int i = 1; i >= 0; i--)
		wiring_stop(&agents[i]);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_claim) };

	return cmocka_run_group_tests(tests, two_set_up, two_tear_down);
}
